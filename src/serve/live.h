// Runs in progress: one follower for each run that someone looks at, polled once a second, and what
// it says as an event for all its readers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <genscope/store.h>

#include "serve/http.h"
#include "serve/runs.h"

namespace genscope::serve {

// `tick` of docs/openapi.json: one line of JSON.
std::string tick_json(const RunEntry& run, const Progress& progress, std::int64_t now_unix_ns,
                      std::int64_t now_monotonic_ns);

class LiveRuns {
 public:
  // Does nothing until start().
  LiveRuns(std::string folder, std::chrono::milliseconds interval);
  ~LiveRuns() { stop(); }
  LiveRuns(const LiveRuns&) = delete;
  LiveRuns& operator=(const LiveRuns&) = delete;

  void start(HttpServer& server);
  void stop();
  static std::string channel_of(const std::string& run_id) { return "run/" + run_id; }
  // From now on the run's events are made while it has readers.
  void watch(const RunEntry& run);
  // Where a run is now; from the follower that is there, or a new one.
  Progress progress(const RunEntry& run);

 private:
  struct Watched {
    RunEntry run;
    RunFollower follower;
    int quiet_polls = 0;   // in which no process was alive
    int lonely_polls = 0;  // in which nobody looked
  };
  void loop(HttpServer& server);
  bool tick(HttpServer& server, Watched& watched);  // false: it is over, or nobody looks

  const std::string folder_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::map<std::string, Watched> watched_;  // by id
  std::thread thread_;
};

}  // namespace genscope::serve

// Runs in progress: one follower for each run that someone looks at or scrapes, polled once a
// second by a thread of its own, and what it says as an event for all its readers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

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
  ~LiveRuns() { join(); }
  LiveRuns(const LiveRuns&) = delete;
  LiveRuns& operator=(const LiveRuns&) = delete;

  void start(HttpServer& server);
  // False: the thread is still at work after `grace`.
  bool stop(std::chrono::milliseconds grace);
  void join();  // stops, and waits for it
  static std::string channel_of(const std::string& run_id) { return "run/" + run_id; }
  // From now on the run's events are made while it has readers.
  void watch(const RunEntry& run);
  // Where these runs were at the last look, an interval ago at most; null: not known yet. A run
  // that is asked for anew is followed from then on, so this costs the same however long it is.
  std::vector<std::shared_ptr<const Progress>> scrape(const std::vector<RunEntry>& runs);

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    explicit Watched(const RunEntry& entry) : run(entry), follower(entry.path) {}
    const RunEntry run;
    // Of the thread alone:
    RunFollower follower;
    int quiet_polls = 0;  // in which no process was alive
    // Guarded by mutex_:
    bool shown = false, scraped = false;       // somebody has looked, or scraped
    int unread_polls = 0;                      // in which nobody did either
    bool tried = false;                        // a first look was had, if there was memory for it
    std::shared_ptr<const Progress> progress;  // null: not known yet
  };
  void loop(HttpServer& server);
  bool tick(HttpServer& server, Watched& watched);  // false: it is over, or nobody looks
  std::shared_ptr<Watched> follow_locked(const RunEntry& run);

  const std::string folder_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable wake_;    // the thread
  std::condition_variable polled_;  // who waits for a first look, or for the thread to end
  bool stopping_ = false, ended_ = true;
  std::map<std::string, std::shared_ptr<Watched>> watched_;  // by id
  std::thread thread_;
};

}  // namespace genscope::serve

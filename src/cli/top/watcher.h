// Watcher: samples this machine for `genscope top`, and follows a run if there is one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <genscope/probe.h>
#include <genscope/store.h>

#include "cli/top/frame.h"

namespace genscope::cli::top {

struct WatchOptions {
  double interval_seconds = 1;
  std::int32_t pid = 0;  // root of the watched tree; 0: the session of this process
  std::string run;       // run directory; empty: none. Its oldest live process is the root then.
  bool once = false;     // values are wanted soon: everything is read several times a second
};

class Watcher {
 public:
  explicit Watcher(WatchOptions options);

  // Starts sampling. Fails if there is no such run, or no thread can be made.
  Status start();
  // Waits until no value is pending, two seconds at most: a rate needs two readings.
  void settle() const;
  // Everything as it is now. Restarts the sampling when the root of the run has changed.
  Frame frame();

 private:
  Status watch(std::int32_t root);

  WatchOptions options_;
  std::optional<RunFollower> follower_;
  Progress progress_;
  std::int32_t root_ = 0;
  std::vector<std::string> probe_names_;
  std::unique_ptr<Sampler> sampler_;
  Tracker tracker_;
};

}  // namespace genscope::cli::top

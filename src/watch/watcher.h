// Watcher: starts a command, stays out of its way until it ends, and says how it went.
//
// One loop on one thread: it wakes for signals (the end of a child among them) and, when there is a
// live block, four times a second to redraw it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <genscope/store.h>

#include "watch/last_words.h"
#include "watch/live_block.h"
#include "watch/live_screen.h"
#include "watch/logs/relay.h"
#include "watch/orphans.h"
#include "watch/program.h"
#include "watch/signals.h"
#include "watch/summary.h"
#include "watch/telemetry.h"

namespace genscope::watch {

struct WatchOptions {
  std::string file;  // to execute; command[0] is what the user called it
  std::vector<std::string> command;
  std::string shown_command;  // as the live block has it, without secrets
  std::string run_dir;        // absolute; empty: nothing is recorded
  std::string live = "auto";
  std::int64_t redraw_ns = 250'000'000;
  std::string color = "auto";
  std::string skip;  // spans that the command's sessions leave out, added to $GENSCOPE_SKIP
  std::vector<std::pair<std::string, std::string>> environment;  // to add to the command's
  LogRelay* logs = nullptr;  // through which its output goes; outlives the watcher
};

class Watcher {
 public:
  // Signals are ours from here on, so make it before any thread.
  explicit Watcher(WatchOptions options);

  // Until the command has ended; nothing if it could not be started, and `why`. `telemetry` has
  // stopped when this returns.
  std::optional<Ending> watch(Telemetry& telemetry, CannotStart& why);

 private:
  using Reactions = Reaction::Kind;

  void open_screen();
  bool ended() const;
  void wait_for_signals();
  void handle(const signalfd_siginfo& info);
  void stop_ourselves();
  void redraw();
  Ending reap();

  WatchOptions options_;
  SignalFd signals_;
  Orphans orphans_;
  LastWords last_words_;
  Telemetry* telemetry_ = nullptr;
  std::unique_ptr<LiveScreen> screen_;
  std::unique_ptr<RunFollower> follower_;
  Trails trails_;
  pid_t pid_ = 0;
  long own_maxrss_kib_ = 0;
  std::int64_t begin_ns_ = 0;
  std::int64_t end_ns_ = 0;
  std::int64_t next_redraw_ns_ = 0;
  std::int64_t next_trail_ns_ = 0;
  bool was_free_ = true;
};

}  // namespace genscope::watch

// Once the command runs nothing may keep us from waiting for it: whatever else fails or throws is
// cut off (unless_it_fails) and the loop goes on, without the live block if need be. The end is
// seen without reaping, so that the last figures of the dead process can still be read from /proc;
// the kernel's own usage comes from wait4() after that.
#include "watch/watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "watch/last_resort.h"
#include "watch/unless_it_fails.h"

namespace genscope::watch {
namespace {

constexpr std::int64_t kFirstRedrawNs = 400'000'000;  // what ends sooner flashes no block
constexpr std::int64_t kTrailNs = 1'000'000'000;      // between two values of a sparkline
constexpr std::size_t kNamedLeft = 5;

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Of a process that ended and was not reaped: the second figure of its schedstat. Without memory of
// its own: it runs when there may be none.
std::optional<std::int64_t> cpu_wait_of(pid_t pid) {
  char path[32], text[96];
  std::snprintf(path, sizeof path, "/proc/%d/schedstat", static_cast<int>(pid));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return std::nullopt;
  text[size] = '\0';
  long long ran = 0, waited = 0;
  if (std::sscanf(text, "%lld %lld", &ran, &waited) != 2 || waited < 0 || ran <= 0) {
    return std::nullopt;  // a kernel that does not count says 0
  }
  return waited;
}

double seconds_since(std::int64_t begin_ns, std::int64_t end_ns) {
  return static_cast<double>(end_ns - begin_ns) / 1e9;
}

}  // namespace

Watcher::Watcher(WatchOptions options) : options_(std::move(options)) {}

std::optional<Ending> Watcher::watch(Telemetry& telemetry, CannotStart& why) {
  telemetry_ = &telemetry;
  std::vector<std::pair<std::string, std::string>> environment = options_.environment;
  if (!options_.run_dir.empty()) environment.emplace_back("GENSCOPE_RUN_DIR", options_.run_dir);
  environment.emplace_back("GENSCOPE_SAMPLED", "1");  // its sessions need no probes of their own
  if (!options_.skip.empty()) {
    const char* const before = std::getenv("GENSCOPE_SKIP");
    environment.emplace_back("GENSCOPE_SKIP",
                             before != nullptr ? before + ("," + options_.skip) : options_.skip);
  }
  last_words_ = LastWords();
  begin_ns_ = now_ns();
  const std::array<int, 2> outputs =
      options_.logs != nullptr ? options_.logs->outputs() : std::array<int, 2>{-1, -1};
  pid_ = start_command(options_.file, options_.command, environment, why, outputs);
  if (pid_ == 0) return std::nullopt;
  // The command runs: from here on we wait for its end, whatever else fails.
  stay_until_it_ends(pid_);
  if (options_.logs != nullptr) options_.logs->start();
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  own_maxrss_kib_ = own.ru_maxrss;
  orphans_.watch(pid_);
  next_redraw_ns_ = begin_ns_ + kFirstRedrawNs;
  unless_it_fails([&] { telemetry.start(pid_); });
  unless_it_fails([&] { open_screen(); });
  while (!ended()) {
    unless_it_fails([&] { wait_for_signals(); });
    if (!unless_it_fails([&] { redraw(); })) screen_.reset();
  }
  end_ns_ = now_ns();
  if (options_.logs != nullptr) unless_it_fails([&] { options_.logs->finish(); });
  screen_.reset();
  return reap();
}

void Watcher::open_screen() {
  screen_ = LiveScreen::open(options_.live, options_.color);
  if (screen_ && !options_.run_dir.empty()) {
    follower_ = std::make_unique<RunFollower>(options_.run_dir);
  }
}

// Without reaping it: its last figures are still to be read.
bool Watcher::ended() const {
  siginfo_t info{};
  const int result = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return (result == 0 && info.si_pid == pid_) || (result < 0 && errno == ECHILD);
}

void Watcher::wait_for_signals() {
  constexpr int kWithoutSignalsMs = 100;
  int timeout_ms = signals_.fd() < 0 ? kWithoutSignalsMs : -1;
  if (screen_) {
    const std::int64_t left_ns = std::max<std::int64_t>(next_redraw_ns_ - now_ns(), 0);
    timeout_ms = static_cast<int>((left_ns + 999'999) / 1'000'000);
  }
  pollfd wake{signals_.fd(), POLLIN, 0};
  poll(&wake, 1, timeout_ms);
  bool child = false;
  while (const auto info = signals_.next()) {
    handle(*info);
    child |= info->ssi_signo == SIGCHLD;
  }
  if (child) orphans_.reap();
}

void Watcher::handle(const signalfd_siginfo& info) {
  const int number = static_cast<int>(info.ssi_signo);
  const bool ignored = signals_at_start().ignored.test(info.ssi_signo);
  const Reaction reaction = react(number, info.ssi_code, ignored);
  const bool from_command = info.ssi_pid == static_cast<std::uint32_t>(pid_);
  if ((reaction.kind == Reactions::pass_on || reaction.pass_on_too) && !from_command) {
    kill(pid_, number);
  }
  if (reaction.kind == Reactions::stop) stop_ourselves();
  if (reaction.kind == Reactions::resize && options_.logs != nullptr) {
    options_.logs->resize();
    kill(pid_, SIGWINCH);  // it may have looked before
  }
  const bool redraw_all = reaction.kind == Reactions::resize || reaction.kind == Reactions::resume;
  if (redraw_all && screen_) {
    screen_->measure();
    screen_->forget();
    next_redraw_ns_ = 0;
  }
}

void Watcher::stop_ourselves() {
  if (screen_) screen_->leave();
  kill(getpid(), SIGSTOP);
}

void Watcher::redraw() {
  if (!screen_ || now_ns() < next_redraw_ns_) return;
  next_redraw_ns_ = now_ns() + options_.redraw_ns;
  const bool is_free = screen_->is_free();
  if (is_free && !was_free_) screen_->forget();
  was_free_ = is_free;
  if (!is_free || screen_->max_lines() == 0) return;

  LiveState state;
  state.command = options_.shown_command;
  state.elapsed_seconds = seconds_since(begin_ns_, now_ns());
  state.snapshot = telemetry_->snapshot();
  state.gpus_wanted = telemetry_->gpus_wanted();
  if (state.gpus_wanted) state.probes = telemetry_->reports();
  if (follower_) state.progress = follower_->poll();
  if (options_.logs == nullptr) {  // else our own trace has the stages of the log
    std::erase_if(state.progress.processes, [](const Progress::Process& process) {
      return process.pid == static_cast<std::uint32_t>(getpid());
    });
  }
  if (now_ns() >= next_trail_ns_) {
    next_trail_ns_ = now_ns() + kTrailNs;
    extend_trails(trails_, state.snapshot);
  }
  state.trails = trails_;
  screen_->draw(live_block(state, screen_->look(), screen_->max_lines()));
}

Ending Watcher::reap() {
  telemetry_->stop();
  Ending ending;
  ending.wall_seconds = seconds_since(begin_ns_, end_ns_);
  ending.own_maxrss_kib = own_maxrss_kib_;
  ending.cpu_wait_ns = cpu_wait_of(pid_);
  int status = 0;
  pid_t reaped = 0;
  do {
    reaped = wait4(pid_, &status, 0, &ending.usage);
  } while (reaped < 0 && errno == EINTR);
  ending.exit_code = exit_code_of(status);
  leave_with(ending.exit_code);
  if (ending.exit_code != 0) {
    unless_it_fails([&] {
      ending.last_words = options_.logs != nullptr ? last_lines(options_.logs->last_of_stderr())
                                                   : last_words_.read();
    });
  }
  unless_it_fails([&] {
    orphans_.reap();
    ending.orphans_reaped = orphans_.reaped();
    ending.left = orphans_.left(kNamedLeft, ending.left_count);
  });
  return ending;
}

}  // namespace genscope::watch

// The parent's side of a probe in another process: starts it, reads its pipe, starts it again.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>

#include "base/clock.h"
#include "base/file.h"
#include "genscope/probe.h"
#include "probe/wire.h"

extern char** environ;

namespace genscope::probe {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kFirstPause = 1 * kSecond;
constexpr std::int64_t kLongestPause = 60 * kSecond;
constexpr std::int64_t kSilence = 20 * kSecond;  // a child that says nothing for so long hangs
constexpr std::size_t kMaxReasons = 256;

class RemoteProbe final : public Probe, private WireReader::Handler {
 public:
  RemoteProbe(std::vector<std::string> command, std::int64_t patience_ns)
      : command_(std::move(command)), patience_ns_(patience_ns) {}
  ~RemoteProbe() override { end_child(); }

  std::string_view name() const noexcept override { return "remote"; }
  ProbeState open(Board& board) override;
  void sample(Tier tier, std::int64_t now_ns, Board& board) noexcept override;

 private:
  // WireReader::Handler
  void on_entity(std::uint32_t entity, Entity what) override;
  void on_series(std::uint32_t series, std::uint32_t entity, std::string_view metric,
                 std::string_view source) override;
  void on_reading(std::uint32_t series, SampleStatus status, double value,
                  std::string_view reason) override;
  void on_event(std::uint32_t entity, std::string_view what, std::string_view detail) override;
  void on_processes(std::uint32_t entity, std::span<const ProcessRow> rows) override;
  void on_state(std::string_view probe, ProbeState state) override;

  bool start_child(std::string& error);
  void end_child() noexcept;
  void lose(const char* reason, std::string_view detail, std::int64_t now_ns) noexcept;
  enum class Pipe { open, closed, garbled };
  Pipe drain() noexcept;
  void wait_for_states();
  ProbeState summary() const;
  static const char* intern(std::string_view reason);
  static std::uint32_t lookup(const std::vector<std::uint32_t>& table, std::uint32_t number) {
    return number < table.size() ? table[number] : kNoSeries;
  }
  static bool remember(std::vector<std::uint32_t>& table, std::uint32_t number,
                       std::uint32_t ours) {
    if (number >= 4096) return false;
    if (table.size() <= number) table.resize(number + 1, kNoSeries);
    table[number] = ours;
    return true;
  }

  const std::vector<std::string> command_;
  const std::int64_t patience_ns_;
  pid_t pid_ = -1;
  base::UniqueFd pipe_;
  Pipe state_ = Pipe::open;
  std::unique_ptr<WireReader> reader_;
  Board* board_ = nullptr;
  std::vector<std::uint32_t> entities_, series_;  // the child's numbers -> the board's
  std::vector<std::pair<std::string, ProbeState>> states_;
  std::int64_t pause_ns_ = kFirstPause;
  std::int64_t restart_ns_ = 0;  // when to try again; 0: it runs
  std::int64_t heard_ns_ = 0;
  std::int64_t started_ns_ = 0;
};

bool RemoteProbe::start_child(std::string& error) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    error = std::strerror(errno);
    return false;
  }
  pipe_.reset(ends[0]);
  base::UniqueFd theirs(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // The user's terminal is not for a vendor's last words.
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  sigdelset(&defaults, SIGINT);   // Ctrl-C is for the command that is watched,
  sigdelset(&defaults, SIGQUIT);  // and serve_probes ignores both
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv;
  for (const std::string& word : command_) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int failed = command_.empty() ? ENOENT
                                      : ::posix_spawnp(&pid_, argv[0], &actions, &attributes,
                                                       argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = -1;
    pipe_.reset();
    error = std::strerror(failed);
    return false;
  }
  reader_ = std::make_unique<WireReader>();
  entities_.clear();
  series_.clear();
  started_ns_ = heard_ns_ = base::monotonic_ns();
  restart_ns_ = 0;
  state_ = Pipe::open;
  return true;
}

void RemoteProbe::end_child() noexcept {
  pipe_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  // A process that hangs in a driver cannot be killed: leave it to init rather than wait.
  for (int i = 0; i < 100; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) break;
    const timespec pause{0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
  pid_ = -1;
}

ProbeState RemoteProbe::open(Board& board) {
  board_ = &board;
  if (pid_ <= 0) {
    std::string error;
    if (!start_child(error)) {
      const std::string program = command_.empty() ? "" : command_.front();
      return {ProbeState::Kind::broken, "cannot start " + program + ": " + error, ""};
    }
  }
  wait_for_states();
  return summary();
}

void RemoteProbe::wait_for_states() {
  const std::int64_t until = base::monotonic_ns() + patience_ns_;
  while (states_.empty()) {
    const std::int64_t left = until - base::monotonic_ns();
    if (left <= 0) return;
    pollfd ready{pipe_.get(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(left / 1'000'000 + 1));
    if ((state_ = drain()) != Pipe::open) return;
  }
}

ProbeState RemoteProbe::summary() const {
  if (states_.empty()) return {ProbeState::Kind::works, "its process has not answered yet", ""};
  if (states_.size() == 1) return states_.front().second;
  ProbeState state = states_.front().second;
  state.reason.clear();
  state.remedy.clear();
  for (const auto& [probe, one] : states_) {
    state.kind = std::min(state.kind, one.kind);
    const auto add = [&probe = probe](std::string& all, const std::string& text) {
      if (!text.empty()) all += (all.empty() ? "" : "; ") + probe + ": " + text;
    };
    add(state.reason, one.reason);
    add(state.remedy, one.remedy);
  }
  return state;
}

RemoteProbe::Pipe RemoteProbe::drain() noexcept {
  char buffer[16 * 1024];
  for (int i = 0; i < 64; ++i) {  // at most 1 MiB a tick: what is left waits in the pipe
    const ssize_t got = ::read(pipe_.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN ? Pipe::open : Pipe::closed;
    if (got == 0) return Pipe::closed;
    heard_ns_ = base::monotonic_ns();
    const std::string_view bytes(buffer, static_cast<std::size_t>(got));
    if (!reader_->feed(bytes, *this)) return Pipe::garbled;
  }
  return Pipe::open;
}

void RemoteProbe::lose(const char* reason, std::string_view detail, std::int64_t now_ns) noexcept {
  for (const std::uint32_t entity : entities_) {
    if (entity == kNoSeries) continue;
    board_->set_all(entity, SampleStatus::lost, reason);
    board_->set_processes(entity, {});
  }
  for (const std::uint32_t entity : entities_) {
    if (entity == kNoSeries) continue;
    board_->event(entity, "probe_died", detail);
    break;
  }
  end_child();
  // One that had worked for a while is started again soon.
  if (now_ns - started_ns_ > kLongestPause) pause_ns_ = kFirstPause;
  restart_ns_ = now_ns + pause_ns_;
  pause_ns_ = std::min(pause_ns_ * 2, kLongestPause);
}

void RemoteProbe::sample(Tier tier, std::int64_t now_ns, Board& board) noexcept {
  if (tier != Tier::fast) return;
  board_ = &board;
  if (pid_ <= 0) {
    std::string error;
    if (restart_ns_ == 0 || now_ns < restart_ns_) return;
    if (!start_child(error)) restart_ns_ = now_ns + (pause_ns_ = kLongestPause);
    return;
  }
  if (state_ == Pipe::open) state_ = drain();
  switch (state_) {
    case Pipe::open:
      if (base::monotonic_ns() - heard_ns_ > kSilence) {
        lose("the process that reads it hangs", "no answer for 20 s; it is started again", now_ns);
      }
      return;
    case Pipe::garbled:
      lose("the process that reads it sent nonsense", "its messages made no sense", now_ns);
      return;
    case Pipe::closed:
      break;
  }
  int status = 0;
  char detail[96] = "its process ended";
  for (int i = 0; i < 50; ++i) {  // the pipe closes a moment before the process can be waited for
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == pid_ || (got < 0 && errno == ECHILD)) {
      if (got == pid_) pid_ = -1;
      if (got > 0 && WIFSIGNALED(status)) {
        std::snprintf(detail, sizeof(detail), "its process died by signal %d", WTERMSIG(status));
      } else if (got > 0) {
        std::snprintf(detail, sizeof(detail), "its process ended with code %d",
                      WEXITSTATUS(status));
      }
      break;
    }
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  lose("the process that reads it died", detail, now_ns);
}

// Reasons are literals to whoever reads them, and snapshots outlive probes: so they live as long as
// the process. There are few, and at most kMaxReasons.
const char* RemoteProbe::intern(std::string_view reason) {
  static std::mutex mutex;
  static auto* const reasons = new std::deque<std::string>;
  if (reason.empty()) return nullptr;
  const std::lock_guard lock(mutex);
  for (const std::string& known : *reasons) {
    if (known == reason) return known.c_str();
  }
  if (reasons->size() >= kMaxReasons) return "see the other process";
  return reasons->emplace_back(reason).c_str();
}

void RemoteProbe::on_entity(std::uint32_t entity, Entity what) {
  if (what.kind == EntityKind::sampler) what.id += "-gpu";  // ours has that name already
  remember(entities_, entity, board_->add_entity(what));
}

void RemoteProbe::on_series(std::uint32_t series, std::uint32_t entity, std::string_view metric,
                            std::string_view source) {
  const std::uint32_t ours = lookup(entities_, entity);
  const Metric* const known = find_metric(metric);
  if (ours == kNoSeries || known == nullptr) return;
  remember(series_, series, board_->add_series(ours, *known, Tier::fast, source));
}

void RemoteProbe::on_reading(std::uint32_t series, SampleStatus status, double value,
                             std::string_view reason) {
  const std::uint32_t ours = lookup(series_, series);
  if (ours == kNoSeries) return;
  if (status == SampleStatus::ok) {
    board_->set(ours, value);
  } else {
    board_->set(ours, status, intern(reason));
  }
}

void RemoteProbe::on_event(std::uint32_t entity, std::string_view what, std::string_view detail) {
  const std::uint32_t ours = lookup(entities_, entity);
  if (ours != kNoSeries) board_->event(ours, what, detail);
}

void RemoteProbe::on_processes(std::uint32_t entity, std::span<const ProcessRow> rows) {
  const std::uint32_t ours = lookup(entities_, entity);
  if (ours != kNoSeries) board_->set_processes(ours, rows);
}

void RemoteProbe::on_state(std::string_view probe, ProbeState state) {
  for (auto& [known, old] : states_) {
    if (known != probe) continue;
    old = std::move(state);
    return;
  }
  if (states_.size() < 32) states_.emplace_back(probe, std::move(state));
}

}  // namespace
}  // namespace genscope::probe

namespace genscope {

std::unique_ptr<Probe> make_remote_probe(std::vector<std::string> command,
                                         std::int64_t patience_ns) {
  return std::make_unique<probe::RemoteProbe>(std::move(command), patience_ns);
}

}  // namespace genscope

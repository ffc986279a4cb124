// The rules are in the header; here is how they are met without stopping anybody.
//
// A round reads each member: its stat (own time, and what its reaped children had), then its
// children. A child that is listed but gone by the time it is read has been reaped in between, so
// its parent is read again, up to kRounds times; if children die faster than that, the total stays
// as it was.
//
// A member that vanished leaves what it had last as `missing` with its parent, in whose reaped
// counters it is expected to show up. What does not, beyond the ticks that rounding takes, is
// `lost` and counts for the tree for good.
//
// What children had that came and went between two readings is seen in their parent's stat only, so
// that of a parent which waits for children is read in the fast tier, too.
//
// Looking for new children costs a file for each thread, so it is left out while the pid that the
// machine gave out last (the end of /proc/loadavg) is still the same, at most kSkippedDiscoveries
// times.
#include "probe/host/process_tree.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "probe/host/folder.h"

namespace genscope::probe {
namespace {

// A stat file cuts user and system time to whole ticks each, so what a parent gained may lag behind
// what its child had by two ticks, for now and over any stretch of time.
constexpr int kTicksOfDoubt = 2;
constexpr int kRounds = 4;
constexpr unsigned kSkippedDiscoveries = 10;

bool is_gone(int error) noexcept { return error == ESRCH || error == ENOENT; }

// Counters beyond any truth would overflow the sums.
constexpr std::int64_t kMost = std::int64_t{1} << 60;
std::int64_t bounded(std::uint64_t value, std::int64_t unit = 1) noexcept {
  const auto most = static_cast<std::uint64_t>(kMost / unit);
  return static_cast<std::int64_t>(std::min(value, most)) * unit;
}

void add(TreeCounters& to, const TreeCounters& what) noexcept {
  for (std::size_t i = 0; i < kTreeCounters; ++i) to[i] = std::min(to[i] + what[i], kMost);
}

}  // namespace

ProcessTree::ProcessTree(const Options& options, base::Files& files)
    : options_(options),
      files_(options.proc_root, files),
      loadavg_(options.proc_root + "/loadavg", files),
      tick_ns_(1'000'000'000 / std::max(1L, ::sysconf(_SC_CLK_TCK))) {}

int ProcessTree::open() {
  members_.clear();
  members_.reserve(options_.capacity);
  list_.resize(1 << 16);
  if (const int error = adopt(options_.root_pid, nullptr); error != 0) return error;
  std::string_view text;
  const char* const path = files_.task_path(options_.root_pid, options_.root_pid, "children");
  has_children_files_ = !is_gone(files_.read_path(path, list_, text));
  struct : TreeListener {
    void started(const TreeMember&) noexcept override {}
    void ended(const TreeMember&) noexcept override {}
  } nobody;
  read_all(nobody);
  return members_.empty() ? ESRCH : 0;
}

TreeMember* ProcessTree::find(std::uint32_t pid) noexcept {
  for (TreeMember& member : members_) {
    if (member.pid == pid) return &member;
  }
  return nullptr;
}

// ---- members ----

int ProcessTree::adopt(std::uint32_t pid, TreeListener* listener) noexcept {
  if (members_.size() >= options_.capacity) {
    ++refused_;
    return ENOSPC;
  }
  TreeMember member;
  member.pid = pid;
  if (options_.live && kept_ < options_.kept_files) {
    const int fd = files_.files().open(files_.path(pid, "statm"));
    if (fd >= 0) member.statm = base::GuestFd(fd);
  }
  char buffer[1024];
  std::string_view text;
  if (const int error = files_.read(pid, "stat", buffer, text); error != 0) return error;
  ProcessStat stat;
  if (!parse_stat(text, stat) || stat.pid != pid) return EINVAL;
  const bool root = pid == options_.root_pid && members_.empty();
  // Read since its parent was asked: by now the pid may be another's.
  if (!root && find(stat.parent) == nullptr) return ESRCH;
  member.parent = root ? 0 : stat.parent;
  member.start = stat.start;
  const std::string_view name = base::cut_utf8(stat.name, sizeof member.name - 1);
  std::copy(name.begin(), name.end(), member.name);
  member.threads = stat.threads;
  member.has_clock =
      options_.live && ::clock_getcpuclockid(static_cast<pid_t>(pid), &member.clock) == 0;
  if (member.statm.valid()) ++kept_;
  members_.push_back(std::move(member));
  if (listener != nullptr) listener->started(members_.back());
  return 0;
}

void ProcessTree::remove(std::size_t index, TreeListener& listener) noexcept {
  TreeMember& member = members_[index];
  TreeCounters last = member.own;
  add(last, member.reaped);
  for (std::size_t i = 0; i < kTreeCounters; ++i) {
    last[i] += std::max<std::int64_t>(0, member.missing[i]);  // it may have reaped them since
  }
  if (TreeMember* const parent = member.parent != 0 ? find(member.parent) : nullptr) {
    add(parent->missing, last);
    parent->stale = true;
  } else {
    add(lost_, last);
  }
  for (TreeMember& other : members_) {
    if (other.parent != member.pid || &other == &member) continue;
    other.parent = member.parent;  // until its stat file says who adopted it
    other.stale = true;
  }
  listener.ended(member);
  if (member.statm.valid()) --kept_;
  if (index + 1 != members_.size()) member = std::move(members_.back());
  members_.pop_back();
}

// ---- discovery ----

// The number of the pid that was given out last is the cheapest sign that no process was started
// anywhere. It may come round to the same number, so it is not believed for ever.
bool ProcessTree::nothing_was_started() noexcept {
  char buffer[128];
  std::string_view text;
  std::uint64_t last = 0;
  if (loadavg_.read(buffer, text) != 0) return false;
  const std::size_t blank = text.rfind(' ');
  if (blank == std::string_view::npos || !base::parse_number(text.substr(blank + 1), last)) {
    return false;
  }
  const bool same = last == last_pid_ && discoveries_skipped_ < kSkippedDiscoveries;
  discoveries_skipped_ = same ? discoveries_skipped_ + 1 : 0;
  last_pid_ = last;
  return same;
}

void ProcessTree::discover(TreeListener* listener) noexcept {
  if (!options_.children) return;
  if (!has_children_files_) return scan(listener);
  // New members are appended, so their children are asked for in the same loop.
  for (std::size_t i = 0; i < members_.size(); ++i) find_children_of(i, listener);
}

void ProcessTree::find_children_of(std::size_t index, TreeListener* listener) noexcept {
  const std::uint32_t pid = members_[index].pid;
  if (members_[index].zombie) return;
  if (members_[index].threads == 1) return adopt_listed(pid, pid, listener);
  constexpr int kMaxThreads = 4096;
  int left = kMaxThreads;
  for_each_name(files_.files(), files_.path(pid, "task"), [&](std::string_view name) {
    std::uint64_t tid = 0;
    if (base::parse_number(name, tid) && tid <= UINT32_MAX) {
      adopt_listed(pid, static_cast<std::uint32_t>(tid), listener);
    }
    return --left > 0;
  });
}

void ProcessTree::adopt_listed(std::uint32_t pid, std::uint32_t tid,
                               TreeListener* listener) noexcept {
  std::string_view text;
  if (files_.read_path(files_.task_path(pid, tid, "children"), list_, text) != 0) return;
  while (!text.empty()) {
    std::uint64_t child = 0;
    const std::string_view word = base::next_word(text);
    if (!base::parse_number(word, child) || child == 0 || child > UINT32_MAX) continue;
    const auto child_pid = static_cast<std::uint32_t>(child);
    if (find(child_pid) == nullptr) adopt(child_pid, listener);
  }
}

// Without children files: every process is asked for its parent. Most come after their parents, so
// two passes find all but chains whose pids wrapped around.
void ProcessTree::scan(TreeListener* listener) noexcept {
  constexpr int kMaxPasses = 4;
  constexpr int kMaxProcesses = 1 << 16;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const std::size_t before = members_.size();
    int left = kMaxProcesses;
    for_each_name(files_.files(), files_.root().c_str(), [&](std::string_view name) {
      std::uint64_t pid = 0;
      if (base::parse_number(name, pid) && pid <= UINT32_MAX &&
          find(static_cast<std::uint32_t>(pid)) == nullptr) {
        adopt(static_cast<std::uint32_t>(pid), listener);  // ESRCH if it is not of ours
      }
      return --left > 0;
    });
    if (members_.size() == before) return;
  }
}

// ---- reading ----

void ProcessTree::read_fast(TreeListener& listener) noexcept {
  for (TreeMember& member : members_) {
    if (!member.has_clock) member.stale = true;
    if (member.reaps && !member.stale) read_stat(member, false);
  }
  settle(listener);
}

void ProcessTree::read_all(TreeListener& listener) noexcept {
  // Asked before the numbers of threads are read, so that what is started meanwhile is found the
  // next time.
  const bool quiet = nothing_was_started();
  io_error_ = 0;
  for (TreeMember& member : members_) read_stat(member);
  if (!quiet) discover(&listener);
  settle(listener);
}

// Rule 2: what is stale first, then who lives; again if somebody died meanwhile.
void ProcessTree::settle(TreeListener& listener) noexcept {
  for (int round = 0; round < kRounds; ++round) {
    for (TreeMember& member : members_) {
      if (member.stale) read_stat(member);
    }
    memory_error_ = 0;
    bool again = false;
    for (std::size_t i = 0; i < members_.size();) {
      if (check(members_[i])) {
        again = again || members_[i].stale;
        ++i;
      } else {
        remove(i, listener);
        again = true;
      }
    }
    if (again) continue;
    close_accounts();
    return add_up();
  }
}

// False if it is no more.
bool ProcessTree::check(TreeMember& member) noexcept {
  if (member.gone) return false;
  // Before statm: the clock knows only the number of the pid, and a statm that still answers shows
  // that the number was its own until now.
  std::int64_t cpu_ns = -1;
  if (member.has_clock) {
    timespec time{};
    if (::clock_gettime(member.clock, &time) == 0) {
      cpu_ns = time.tv_sec * 1'000'000'000 + time.tv_nsec;
    }
  }
  char buffer[256];
  std::string_view text;
  const char* const path = files_.path(member.pid, "statm");
  const bool kept = member.statm.valid();
  const int statm = member.statm.get();
  if (kept && statm < 0) --kept_;
  const int error =
      statm >= 0 ? files_.read_fd(statm, path, buffer, text) : files_.read_path(path, buffer, text);
  if (is_gone(error)) return false;
  member.own[kCpuNs] = std::max(member.own[kCpuNs], cpu_ns);
  ProcessMemory memory;
  if (error != 0 || !parse_statm(text, memory)) {
    if (memory_error_ == 0) memory_error_ = error != 0 ? error : EINVAL;
    return true;
  }
  member.memory = memory;
  // A zombie has no memory, but its last word on CPU time and on its children.
  if (memory.size == 0 && !member.zombie) member.stale = true;
  member.zombie = memory.size == 0;
  return true;
}

void ProcessTree::read_stat(TreeMember& member, bool with_io) noexcept {
  member.stale = false;
  char buffer[1024];
  std::string_view text;
  ProcessStat stat;
  if (files_.read(member.pid, "stat", buffer, text) != 0 || !parse_stat(text, stat)) return;
  constexpr char kDead = 'X';  // between being waited for and vanishing: it is in its parent's sum
  if (stat.start != member.start || stat.pid != member.pid || stat.state == kDead) {
    member.gone = true;
    return;
  }
  if (member.parent != 0 && member.parent != stat.parent) {
    member.parent = find(stat.parent) != nullptr ? stat.parent : 0;
  }
  member.threads = stat.threads;
  const std::string_view name = base::cut_utf8(stat.name, sizeof member.name - 1);
  std::fill(std::copy(name.begin(), name.end(), member.name), std::end(member.name), '\0');
  const auto raise = [](std::int64_t& value, std::int64_t now) { value = std::max(value, now); };
  const TreeCounters own_before = member.own, reaped_before = member.reaped;
  raise(member.own[kCpuNs], bounded(stat.cpu_ticks, tick_ns_));
  raise(member.own[kMinorFaults], bounded(stat.minor_faults));
  raise(member.own[kMajorFaults], bounded(stat.major_faults));
  if (options_.children) {
    raise(member.reaped[kCpuNs], bounded(stat.reaped_cpu_ticks, tick_ns_));
    raise(member.reaped[kMinorFaults], bounded(stat.reaped_minor_faults));
    raise(member.reaped[kMajorFaults], bounded(stat.reaped_major_faults));
  }
  member.reaps = member.reaped[kCpuNs] > reaped_before[kCpuNs];
  if (with_io) read_io(member);
  // The kernel adds a waited-for child's I/O to the parent's own.
  for (std::size_t i = 0; i < kTreeCounters; ++i) {
    const bool io = i == kReadBytes || i == kWriteBytes;
    member.missing[i] -= io ? member.own[i] - own_before[i] : member.reaped[i] - reaped_before[i];
  }
}

void ProcessTree::read_io(TreeMember& member) noexcept {
  char buffer[512];
  std::string_view text;
  ProcessIo io;
  int error = files_.read(member.pid, "io", buffer, text);
  if (error == 0 && !parse_io(text, io)) error = EINVAL;
  if (error != 0) {
    // A zombie's file still answers, with all that it wrote; where not, what was read last stands.
    const bool ended = member.zombie || is_gone(error);
    if (!ended || (!member.zombie && member.pid == options_.root_pid)) io_error_ = error;
    return;
  }
  member.own[kReadBytes] = std::max(member.own[kReadBytes], bounded(io.read_bytes));
  member.own[kWriteBytes] = std::max(member.own[kWriteBytes], bounded(io.write_bytes));
}

// Rule 3. By less than the ticks of doubt what is missing may be rounding; it is carried along.
void ProcessTree::close_accounts() noexcept {
  for (TreeMember& member : members_) {
    for (std::size_t i = 0; i < kTreeCounters; ++i) {
      std::int64_t& missing = member.missing[i];
      const std::int64_t doubt = i == kCpuNs ? kTicksOfDoubt * tick_ns_ : 0;
      if (missing > 0 && missing <= doubt) continue;
      if (missing > 0) lost_[i] = std::min(lost_[i] + missing, kMost);
      missing = 0;
    }
  }
}

void ProcessTree::add_up() noexcept {
  TreeCounters sum = lost_;
  for (const TreeMember& member : members_) {
    add(sum, member.own);
    add(sum, member.reaped);
  }
  for (std::size_t i = 0; i < kTreeCounters; ++i) highest_[i] = std::max(highest_[i], sum[i]);
}

}  // namespace genscope::probe

#include "probe/host/thread_waits.h"

#include <algorithm>
#include <cerrno>

#include "probe/host/folder.h"

namespace genscope::probe {

ThreadWaits::ThreadWaits() {
  before_.reserve(kMostThreads);
  now_.reserve(kMostThreads);
}

void ThreadWaits::read_thread(std::uint32_t pid, std::uint32_t tid, ProcessFiles& files) noexcept {
  char buffer[128];
  std::string_view text;
  const int error = files.read_path(files.task_path(pid, tid, "schedstat"), buffer, text);
  if (error == ESRCH) return;  // it ended
  SchedStat stat;
  if (error != 0 || !parse_schedstat(text, stat)) {
    // Without the file the kernel does not count; a thread that ended has none either.
    if (error != ENOENT || !counted_)
      error_ = error == ENOENT ? ENODATA : error != 0 ? error : EINVAL;
    return;
  }
  counted_ = counted_ || stat.ran_ns > 0;
  constexpr std::uint64_t kMostNs = std::uint64_t{1} << 60;
  now_.push_back({pid, tid, static_cast<std::int64_t>(std::min(stat.waited_ns, kMostNs))});
}

void ThreadWaits::read(std::span<const TreeMember> members, ProcessFiles& files) noexcept {
  std::size_t threads = 0;
  for (const TreeMember& member : members) threads += std::max<std::uint64_t>(member.threads, 1);
  too_many_ = too_many_ || threads > kMostThreads;
  if (too_many_) return;
  error_ = 0;
  now_.clear();
  for (const TreeMember& member : members) {
    if (now_.size() >= kMostThreads) break;
    if (member.threads <= 1) {
      read_thread(member.pid, member.pid, files);
      continue;
    }
    for_each_name(files.files(), files.path(member.pid, "task"), [&](std::string_view name) {
      std::uint64_t tid = 0;
      if (base::parse_number(name, tid) && tid <= UINT32_MAX) {
        read_thread(member.pid, static_cast<std::uint32_t>(tid), files);
      }
      return now_.size() < kMostThreads;
    });
  }
  if (!counted_ && error_ == 0 && !now_.empty()) error_ = ENODATA;  // all say 0
  add_up();
}

void ThreadWaits::add_up() noexcept {
  std::sort(now_.begin(), now_.end(),
            [](const Thread& a, const Thread& b) { return a.key() < b.key(); });
  living_ns_ = 0;
  std::size_t i = 0;
  for (const Thread& old : before_) {
    while (i < now_.size() && now_[i].key() < old.key()) ++i;
    // Gone, or another thread with its number.
    const bool same =
        i < now_.size() && now_[i].key() == old.key() && now_[i].waited_ns >= old.waited_ns;
    if (!same) ended_ns_ += old.waited_ns;
  }
  for (const Thread& thread : now_) living_ns_ += thread.waited_ns;
  std::swap(before_, now_);
}

bool StorageWaits::read(std::span<const TreeMember> members, std::int64_t now_ns,
                        ProcessFiles& files) noexcept {
  constexpr double kBusy = 0.95;
  const double passed = static_cast<double>(now_ns - last_ns_);
  last_ns_ = now_ns;
  bool waits = false;
  const std::size_t count = std::min(members.size(), kMostMembers);
  for (std::size_t i = 0; i < count; ++i) {
    const TreeMember& member = members[i];
    const Seen before = seen_[i];
    seen_[i] = {member.pid, member.own[kCpuNs]};
    const bool busy = before.pid == member.pid && member.has_clock &&
                      static_cast<double>(member.own[kCpuNs] - before.cpu_ns) > kBusy * passed;
    if (waits || busy || member.zombie) continue;
    char buffer[1024];
    std::string_view text;
    ProcessStat stat;
    if (files.read_path(files.task_path(member.pid, member.pid, "stat"), buffer, text) != 0)
      continue;
    waits = parse_stat(text, stat) && stat.state == 'D';
  }
  return waits;
}

}  // namespace genscope::probe

#include "probe/host/thread_waits.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <span>
#include <string_view>

#include "base/text.h"
#include "probe/host/folder.h"

namespace genscope::probe {

namespace {

constexpr std::int64_t kWorthTelling = 50'000'000;
constexpr std::size_t kMostLooks = 32;  // a reading; each is one more file

bool read_state(std::uint32_t pid, std::uint32_t tid, ProcessFiles& files, ProcessStat& stat,
                std::span<char> buffer) noexcept {
  std::string_view text;
  return files.read_path(files.task_path(pid, tid, "stat"), buffer, text) == 0 &&
         parse_stat(text, stat);
}

void set_name(std::span<char, 16> name, std::string_view text) noexcept {
  text = base::cut_utf8(text, name.size() - 1);
  std::fill(std::copy(text.begin(), text.end(), name.begin()), name.end(), '\0');
}

}  // namespace

// Those that ended stay until the reading is over; new ones for which there is no room come next
// time.
ThreadWaits::ThreadWaits() { threads_.reserve(kMostThreads + 32); }

// The name once; the state where it was not on a CPU most of the time.
void ThreadWaits::look(Thread& thread, bool is_new, std::int64_t grown_ns, std::int64_t passed_ns,
                       ProcessFiles& files) noexcept {
  const bool busy = grown_ns > passed_ns / 2;
  if (!is_new && (busy || read_ > kMostLooks)) return;
  char buffer[1024];
  ProcessStat stat;
  if (!read_state(thread.pid, thread.tid, files, stat, buffer)) return;
  if (stat.state != 'R') ++thread.looks;
  if (stat.state == 'D') ++thread.in_storage;
  set_name(thread.name, stat.name);
}

void ThreadWaits::read_thread(const TreeMember& member, std::uint32_t tid,
                              ProcessFiles& files) noexcept {
  const std::uint32_t pid = member.pid;
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
  ++read_;
  constexpr std::uint64_t kMostNs = std::uint64_t{1} << 60;
  const auto ran = static_cast<std::int64_t>(std::min(stat.ran_ns, kMostNs));
  const auto waited = static_cast<std::int64_t>(std::min(stat.waited_ns, kMostNs));
  Thread fresh;
  fresh.pid = pid;
  fresh.tid = tid;
  const auto end = threads_.begin() + static_cast<std::ptrdiff_t>(known_);
  const auto place =
      std::lower_bound(threads_.begin(), end, fresh,
                       [](const Thread& a, const Thread& b) { return a.key() < b.key(); });
  // With less than before it is another thread with the same number.
  if (place != end && place->key() == fresh.key() && place->waited_ns <= waited &&
      place->ran_ns <= ran) {
    Thread& known = *place;
    const std::int64_t passed = now_ns_ - known.last_ns;
    const std::int64_t grown = ran - known.ran_ns;
    known.ran_ns = ran;
    known.waited_ns = waited;
    known.last_ns = now_ns_;
    if (!member.zombie) look(known, false, grown, passed, files);
    if (tid == pid) set_name(known.name, member.name);  // it may run another program by now
    return;
  }
  if (threads_.size() == threads_.capacity()) return;
  fresh.ran_ns = fresh.first_ran_ns = ran;
  fresh.waited_ns = fresh.first_waited_ns = waited;
  fresh.first_ns = fresh.last_ns = now_ns_;
  look(fresh, true, 0, 0, files);
  threads_.push_back(fresh);
}

void ThreadWaits::read(std::span<const TreeMember> members, std::int64_t now_ns,
                       ProcessFiles& files, ThreadListener& listener) noexcept {
  std::size_t threads = 0;
  for (const TreeMember& member : members) threads += std::max<std::uint64_t>(member.threads, 1);
  too_many_ = too_many_ || threads > kMostThreads;
  if (too_many_) return;
  error_ = 0;
  read_ = 0;
  now_ns_ = now_ns;
  listener_ = &listener;
  for (const TreeMember& member : members) {
    if (read_ >= kMostThreads) break;
    if (member.threads <= 1) {
      read_thread(member, member.pid, files);
      continue;
    }
    for_each_name(files.files(), files.path(member.pid, "task"), [&](std::string_view name) {
      std::uint64_t tid = 0;
      if (base::parse_number(name, tid) && tid <= UINT32_MAX) {
        read_thread(member, static_cast<std::uint32_t>(tid), files);
      }
      return read_ < kMostThreads;
    });
  }
  if (!counted_ && error_ == 0 && read_ > 0) error_ = ENODATA;  // all say 0
  settle();
  listener_ = nullptr;
}

void ThreadWaits::tell(Thread& thread) noexcept {
  thread.told_ns = thread.used_ns();
  if (thread.last_ns <= thread.first_ns || thread.told_ns < kWorthTelling) return;
  ThreadFigures figures;
  figures.pid = thread.pid;
  figures.tid = thread.tid;
  std::copy(std::begin(thread.name), std::end(thread.name), figures.name);
  figures.seen_ns = thread.last_ns - thread.first_ns;
  figures.ran_ns = thread.ran_ns - thread.first_ran_ns;
  figures.waited_ns = thread.waited_ns - thread.first_waited_ns;
  figures.looks = thread.looks;
  figures.in_storage = thread.in_storage;
  listener_->thread(figures);
}

// Those that were not read now have ended.
void ThreadWaits::settle() noexcept {
  living_ns_ = 0;
  std::size_t kept = 0;
  for (Thread& thread : threads_) {
    const std::int64_t used = thread.used_ns();
    if (thread.last_ns != now_ns_) {
      ended_ns_ += thread.waited_ns;
      if (used > thread.told_ns) tell(thread);
      continue;
    }
    living_ns_ += thread.waited_ns;
    if (used > thread.told_ns + thread.told_ns / 2 + 4 * kWorthTelling) tell(thread);
    threads_[kept++] = thread;
  }
  threads_.resize(kept);
  std::sort(threads_.begin(), threads_.end(),
            [](const Thread& a, const Thread& b) { return a.key() < b.key(); });
  known_ = threads_.size();
}

MainStates StorageWaits::read(std::span<const TreeMember> members, std::int64_t now_ns,
                              ProcessFiles& files) noexcept {
  constexpr double kBusy = 0.95;
  const double passed = static_cast<double>(now_ns - last_ns_);
  last_ns_ = now_ns;
  bool storage = false, runs = false;
  const std::size_t count = std::min(members.size(), kMostMembers);
  for (std::size_t i = 0; i < count; ++i) {
    const TreeMember& member = members[i];
    const Seen before = seen_[i];
    seen_[i] = {member.pid, member.own[kCpuNs]};
    if (storage || member.zombie) continue;
    if (before.pid == member.pid && member.has_clock &&
        static_cast<double>(member.own[kCpuNs] - before.cpu_ns) > kBusy * passed) {
      runs = true;
      continue;
    }
    char buffer[1024];
    ProcessStat stat;
    if (!read_state(member.pid, member.pid, files, stat, buffer)) continue;
    storage = stat.state == 'D';
    runs = runs || stat.state == 'R';
  }
  return {storage, storage || !runs};
}

}  // namespace genscope::probe

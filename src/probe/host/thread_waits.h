// How long the threads of a tree could have run and had no CPU, as the scheduler counts it, and
// whether a process waits for storage.
//
// The scheduler keeps a thread's time on a CPU and its time in the run queue in its schedstat file.
// A thread that ended takes its figures along: what was read last of it stands, so the sum never
// shrinks, and is short of at most the last wait of each thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/host/process_files.h"
#include "probe/host/process_tree.h"

namespace genscope::probe {

class ThreadWaits {
 public:
  // A file for each thread. Of a tree with more than this nothing is told.
  static constexpr std::size_t kMostThreads = 128;

  ThreadWaits();

  // Reads the threads of all members.
  void read(std::span<const TreeMember> members, ProcessFiles& files) noexcept;

  std::int64_t waited_ns() const noexcept { return ended_ns_ + living_ns_; }
  bool too_many() const noexcept { return too_many_; }
  // 0: all that had to be read were. ENODATA: the kernel does not count.
  int error() const noexcept { return error_; }

 private:
  struct Thread {
    std::uint32_t pid = 0, tid = 0;
    std::int64_t waited_ns = 0;
    auto key() const noexcept { return (std::uint64_t{pid} << 32) | tid; }
  };
  void read_thread(std::uint32_t pid, std::uint32_t tid, ProcessFiles& files) noexcept;
  void add_up() noexcept;

  std::vector<Thread> before_, now_;  // by key; of a fixed capacity
  std::int64_t ended_ns_ = 0, living_ns_ = 0;
  bool too_many_ = false, counted_ = false;
  int error_ = 0;
};

// Whether the main thread of a member is in the state D: waiting for storage, mostly, and not to be
// interrupted. Reads the state of those members that were not on a CPU nearly all the time since
// the last call, and of at most 16.
class StorageWaits {
 public:
  bool read(std::span<const TreeMember> members, std::int64_t now_ns, ProcessFiles& files) noexcept;

 private:
  struct Seen {
    std::uint32_t pid = 0;
    std::int64_t cpu_ns = 0;
  };
  static constexpr std::size_t kMostMembers = 16;
  Seen seen_[kMostMembers] = {};
  std::int64_t last_ns_ = 0;
};

}  // namespace genscope::probe

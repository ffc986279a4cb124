// How long the threads of a tree ran, could have run and had no CPU, as the scheduler counts it,
// and whether a process waits for storage.
//
// The scheduler keeps a thread's time on a CPU and its time in the run queue in its schedstat file.
// A thread that ended takes its figures along: what was read last of it stands, so the sum never
// shrinks, and is short of at most the last wait of each thread.
//
// Each thread that used or wanted a CPU for a twentieth of a second is told to a listener, when its
// figures have grown by half and when it has ended: a bounded number of times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/host/process_files.h"
#include "probe/host/process_tree.h"

namespace genscope::probe {

// What was read of a thread; figures are since it was first seen.
struct ThreadFigures {
  std::uint32_t pid = 0, tid = 0;
  char name[16] = {};  // as in comm
  std::int64_t seen_ns = 0, ran_ns = 0, waited_ns = 0;
  std::uint32_t looks = 0, in_storage = 0;  // at it while it waited; those in the state D
};

class ThreadListener {
 public:
  virtual ~ThreadListener() = default;
  virtual void thread(const ThreadFigures& figures) noexcept = 0;
};

class ThreadWaits {
 public:
  // A file for each thread. Of a tree with more than this nothing is told.
  static constexpr std::size_t kMostThreads = 128;

  ThreadWaits();

  // Reads the threads of all members.
  void read(std::span<const TreeMember> members, std::int64_t now_ns, ProcessFiles& files,
            ThreadListener& listener) noexcept;

  std::int64_t waited_ns() const noexcept { return ended_ns_ + living_ns_; }
  bool too_many() const noexcept { return too_many_; }
  // 0: all that had to be read were. ENODATA: the kernel does not count.
  int error() const noexcept { return error_; }

 private:
  struct Thread {
    std::uint32_t pid = 0, tid = 0;
    std::int64_t ran_ns = 0, waited_ns = 0;  // as read last
    std::int64_t first_ns = 0, last_ns = 0, first_ran_ns = 0, first_waited_ns = 0;
    std::int64_t told_ns = 0;  // what it had used and wanted when it was told
    std::uint32_t looks = 0, in_storage = 0;
    char name[16] = {};
    auto key() const noexcept { return (std::uint64_t{pid} << 32) | tid; }
    std::int64_t used_ns() const noexcept {
      return ran_ns - first_ran_ns + waited_ns - first_waited_ns;
    }
  };
  void read_thread(const TreeMember& member, std::uint32_t tid, ProcessFiles& files) noexcept;
  void look(Thread& thread, bool is_new, std::int64_t grown_ns, std::int64_t passed_ns,
            ProcessFiles& files) noexcept;
  void settle() noexcept;
  void tell(Thread& thread) noexcept;

  std::vector<Thread> threads_;  // of a fixed capacity; the first known_ of them by key
  std::size_t known_ = 0, read_ = 0;
  std::int64_t now_ns_ = 0;
  ThreadListener* listener_ = nullptr;
  std::int64_t ended_ns_ = 0, living_ns_ = 0;
  bool too_many_ = false, counted_ = false;
  int error_ = 0;
};

// What the main threads of the members wait for. Reads the state of those members that were not on
// a CPU nearly all the time since the last call, and of at most 16.
struct MainStates {
  bool storage = false;  // one is in the state D: for storage, mostly, and not to be interrupted
  bool asleep = false;   // none runs or could run
};
class StorageWaits {
 public:
  MainStates read(std::span<const TreeMember> members, std::int64_t now_ns,
                  ProcessFiles& files) noexcept;

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

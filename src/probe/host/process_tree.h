// A process and its descendants, and what they used together.
//
// Counters of a tree are hard because a process that is waited for hands its own to its parent
// (cutime and the like): count it in both places and the total is wrong, in none and it shrinks.
// The rules:
//   1. total = sum over members of (own + reaped) + lost.
//   2. `reaped` of a parent is read before its children are seen to live. So a child that counts
//      as a member is in no parent's `reaped`; where one vanished meanwhile, both are read again.
//   3. A member that vanished is expected in the `reaped` of its parent (or nearest living
//      ancestor). What does not turn up there, because the parent ignores SIGCHLD or the member was
//      an orphan that init reaped, goes to `lost` as last seen.
//   4. A total never shrinks: the highest is kept. While rule 2 cannot be met (children die faster
//      than we look) the total stays as it is.
#pragma once

#include <time.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "genscope/probe.h"
#include "probe/host/process_files.h"
#include "probe/host/process_text.h"

namespace genscope::probe {

enum TreeCounter : std::size_t { kCpuNs, kMinorFaults, kMajorFaults, kReadBytes, kWriteBytes };
inline constexpr std::size_t kTreeCounters = 5;
using TreeCounters = std::array<std::int64_t, kTreeCounters>;

struct TreeMember {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;  // a member's pid; 0: nobody of the tree
  std::uint64_t start = 0;
  char name[32] = {};
  clockid_t clock = 0;  // of its CPU time
  bool has_clock = false;
  base::GuestFd statm;
  bool zombie = false;
  bool gone = false;   // another process has its pid now
  bool stale = true;   // its stat file is to be read
  bool reaps = false;  // it waited for children since its stat file was read before the last time
  std::uint64_t threads = 0;
  ProcessMemory memory;  // pages
  TreeCounters own{};
  TreeCounters reaped{};
  // What vanished children had, less what `reaped` gained. Above 0: not turned up yet; below 0:
  // turned up before the child was missed, or of children that were never seen.
  TreeCounters missing{};
};

// Told of members that come and go.
class TreeListener {
 public:
  virtual ~TreeListener() = default;
  virtual void started(const TreeMember& member) noexcept = 0;
  virtual void ended(const TreeMember& member) noexcept = 0;
};

class ProcessTree {
 public:
  struct Options {
    std::string proc_root;
    std::uint32_t root_pid = 0;
    bool children = true;
    // The kernel's per-process CPU clocks, and descriptors that stay bound to their process: only
    // where proc_root is the /proc of this very pid namespace.
    bool live = false;
    std::size_t capacity = 2048;
    std::size_t kept_files = 256;  // beyond that a member's statm is opened for each read
  };
  ProcessTree(const Options& options, base::Files& files);

  // Finds the root and its descendants. 0 or an errno.
  int open();
  // CPU time and memory of all members; drops those that ended.
  void read_fast(TreeListener& listener) noexcept;
  // The same, new members, and all that is in stat and io.
  void read_all(TreeListener& listener) noexcept;

  std::span<const TreeMember> members() const noexcept { return members_; }
  std::int64_t total(TreeCounter counter) const noexcept { return highest_[counter]; }
  int memory_error() const noexcept { return memory_error_; }  // of any member; 0: all were read
  int io_error() const noexcept { return io_error_; }
  std::uint64_t refused() const noexcept { return refused_; }  // beyond the capacity
  std::int64_t tick_ns() const noexcept { return tick_ns_; }   // of the times in stat files
  ProcessFiles& files() noexcept { return files_; }

 private:
  TreeMember* find(std::uint32_t pid) noexcept;
  void discover(TreeListener* listener) noexcept;
  bool nothing_was_started() noexcept;
  void find_children_of(std::size_t index, TreeListener* listener) noexcept;
  void adopt_listed(std::uint32_t pid, std::uint32_t tid, TreeListener* listener) noexcept;
  void scan(TreeListener* listener) noexcept;
  int adopt(std::uint32_t pid, TreeListener* listener) noexcept;
  void settle(TreeListener& listener) noexcept;
  void read_stat(TreeMember& member, bool with_io = true) noexcept;
  void read_io(TreeMember& member) noexcept;
  void close_accounts() noexcept;
  bool check(TreeMember& member) noexcept;
  void remove(std::size_t index, TreeListener& listener) noexcept;
  void add_up() noexcept;

  Options options_;
  ProcessFiles files_;
  base::KeptFile loadavg_;
  std::vector<TreeMember> members_;  // never beyond the capacity reserved at open()
  std::vector<char> list_;           // a children file
  TreeCounters lost_{};
  TreeCounters highest_{};
  std::int64_t tick_ns_ = 0;
  std::size_t kept_ = 0;
  bool has_children_files_ = true;
  std::uint64_t last_pid_ = 0;
  unsigned discoveries_skipped_ = 0;
  int memory_error_ = 0;
  int io_error_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace genscope::probe

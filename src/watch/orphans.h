// Orphans: descendants of the command whose parent ended before them. We adopt and reap them, so
// that they can be counted, and those that outlive the command can be named.
//
// Threads: the command must be started, and all of this called, on the process's first thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace genscope::watch {

struct Descendant {
  pid_t pid = 0;
  std::string name;  // as in comm; not clean
};

class Orphans {
 public:
  // From now on orphans of our descendants become our children.
  Orphans();
  // `command` is not ours to reap.
  void watch(pid_t command) { command_ = command; }
  // Reaps those that have ended.
  void reap();
  std::uint64_t reaped() const { return reaped_; }
  // Those of the command's descendants that still run, at most `limit` of them, and how many in
  // all. After the command has ended.
  std::vector<Descendant> left(std::size_t limit, std::size_t& all) const;

 private:
  pid_t command_ = 0;
  std::uint64_t reaped_ = 0;
};

}  // namespace genscope::watch

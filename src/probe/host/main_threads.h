// CPU time of the main thread of the program that is watched.
//
// Which process of a tree that is cannot be told: the first one is often a shell or a launcher. So
// it is the main thread that has used most so far. Over any stretch of time this grows by no more
// than the busiest main thread did: a lower bound, and at most the length of the stretch.
#pragma once

#include <cstdint>
#include <span>

#include "probe/host/process_files.h"
#include "probe/host/process_tree.h"

namespace genscope::probe {

class MainThreads {
 public:
  // Reads task/PID/stat of the members whose main thread may have overtaken: those that used more
  // in all their threads. Of a tree with one busy process that is one file.
  void read(std::span<const TreeMember> members, std::int64_t tick_ns,
            ProcessFiles& files) noexcept;

  std::int64_t highest_ns() const noexcept { return highest_ns_; }
  // Of a member that lives; 0: all that had to be read were.
  int error() const noexcept { return error_; }

 private:
  std::int64_t highest_ns_ = 0;
  int error_ = 0;
};

}  // namespace genscope::probe

// Starts a program, as posix_spawn() does, in less of the time that a benchmark measures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace genscope::bench {

struct Launch {
  std::string path;               // of the program; without a slash it is looked for in $PATH
  std::vector<std::string> argv;  // its name first
  std::vector<std::string> env;   // "NAME=value", all of them
  std::string cwd;                // empty: ours
};
struct Descriptors {
  int in = -1, out = -1, err = -1;  // of ours, that become its first three; -1: as ours is
};

// Not for two threads at once: each has its own.
class Spawner {
 public:
  Spawner();
  // 0 and its pid, or errno. The program is in a process group of its own, so that all of it can be
  // ended; no signal that we ignore or block is ignored or blocked in it.
  int start(const Launch& launch, const Descriptors& descriptors, int& pid);

 private:
  std::unique_ptr<std::byte[]> stack_;  // of the child, until it becomes the program
  std::uint64_t reset_ = 0;             // signals that have a handler; 0: never asked
  std::int64_t asked_ns_ = 0;
};

// In $PATH, as the shell would find it; the word itself if it has a slash or is not found.
std::string find_in_path(const std::string& program);

}  // namespace genscope::bench

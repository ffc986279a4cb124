// RunFollower's inside: all traces of a run directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "genscope/store.h"
#include "store/trace_follower.h"

namespace genscope::store {

class Follower {
 public:
  explicit Follower(std::string run_dir) : run_dir_(std::move(run_dir)) {}
  Progress poll();
  // In all polls, from files and live buffers: what a poll costs.
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  Progress progress() const;

  std::string run_dir_;
  std::map<std::string, std::unique_ptr<TraceFollower>> traces_;  // by stem
  std::vector<std::byte> scratch_;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace genscope::store

// The decisions of a StepBatcher: who joins the loop at its next step. No clock and no thread; for
// one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/optimize/step_batch.h>

#include "optimize/flow/batch_model.h"

namespace genscope::optimize {

class StepQueue {
 public:
  explicit StepQueue(StepOptions options = {});

  // None: the queue is full.
  std::optional<std::uint64_t> push(std::string_view key, std::int64_t deadline_ns,
                                    std::int64_t now_ns);
  struct Boundary {
    std::vector<std::uint64_t> join;     // begin these
    std::vector<std::uint64_t> expired;  // their deadline passed while they waited: answer these
  };
  // Between two steps.
  Boundary boundary(std::int64_t now_ns);
  // A step of all that run took so long.
  void stepped(double seconds);
  void left(std::uint64_t id, std::size_t steps);  // of one that runs, for the others' deadlines
  // It is gone: finished, failed or cancelled, running or waiting.
  void ended(std::uint64_t id);
  // The step failed: all that run go back and run alone. A size that ran out of memory is not tried
  // again.
  std::vector<std::uint64_t> failed(bool out_of_memory);

  std::size_t waiting() const noexcept { return waiting_count_; }
  std::size_t running() const noexcept { return running_.size(); }
  std::optional<double> gain(std::string_view key, std::size_t b) const;

 private:
  struct Item {
    std::uint64_t id = 0;
    std::int64_t deadline_ns = kNoDeadline, arrived_ns = 0;
    std::size_t left = 0;  // 0: not known yet
    bool alone = false;
  };
  struct Key {
    BatchModel model;
    bool one_seen = false;
    std::size_t out_at = SIZE_MAX, alone_steps = 0;
    std::deque<Item> waiting;
  };
  bool may_join(const Key& key, std::int64_t now_ns) const;
  Key& of(std::string_view key);

  StepOptions options_;
  std::map<std::string, Key, std::less<>> keys_;
  Key* current_ = nullptr;  // of what runs
  std::vector<Item> running_;
  std::size_t waiting_count_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace genscope::optimize

// When a thread was in spans of some sort, by time. Parents do not tell it of imported traces with
// Python frames: steps and annotations begin within the frame of their own __enter__, which they
// outlive, so that the import puts them on a track beside the thread's ("<track> (overlap <n>)").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <genscope/trace.h>

#include "analyze/resources/stretches.h"

namespace genscope::analysis {

class ThreadTimes {
 public:
  // Of the spans that `wanted(span)` approves.
  template <class Wanted>
  ThreadTimes(const Trace& trace, Wanted&& wanted) : thread_(threads_of(trace)) {
    of_thread_.resize(thread_.size());
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      if (!wanted(i)) continue;
      of_thread_[thread_[trace.spans.track[i]]].push_back(
          interval(trace.spans.begin_ns[i], trace.spans.duration_ns[i]));
    }
    for (Stretches& one : of_thread_) unite(one);
  }
  // Whether the thread of that track was in one of them.
  bool hold(std::uint32_t track, std::int64_t at_ns) const noexcept;
  bool empty() const noexcept;

 private:
  // For each track that of its thread: itself, or the nearest before it that it is beside.
  static std::vector<std::uint32_t> threads_of(const Trace& trace);

  std::vector<std::uint32_t> thread_;
  std::vector<Stretches> of_thread_;
};

}  // namespace genscope::analysis

// Which stage and whether a step is around each span of a trace, and around an instant.
#pragma once

#include <cstdint>
#include <vector>

#include <genscope/trace.h>

#include "analyze/time.h"

namespace genscope::analysis {

// By parents: one pass, 4 bytes and a bit per span.
class Enclosing {
 public:
  explicit Enclosing(const Trace& trace);
  // Name (of Trace::names) of the nearest span of kind stage or load, itself included; or kNone.
  std::uint32_t stage(std::size_t span) const noexcept { return stage_[span]; }
  bool in_step(std::size_t span) const noexcept { return in_step_[span]; }

 private:
  std::vector<std::uint32_t> stage_;
  std::vector<bool> in_step_;
};

// By time, for work that nothing ties to a call: of the spans open at an instant the one that began
// last, whichever thread it is on. Instants must be asked in ascending order.
class InnermostAt {
 public:
  // The spans of these kinds, on whatever track `wanted(span)` approves.
  template <class Wanted>
  InnermostAt(const Trace& trace, Wanted&& wanted) {
    for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
      if (!wanted(i)) continue;
      all_.push_back(
          {interval(trace.spans.begin_ns[i], trace.spans.duration_ns[i]), trace.spans.name[i]});
    }
    sort();
  }
  // Its name (of Trace::names), or kNone.
  std::uint32_t at(std::int64_t ns);
  void rewind() noexcept;

 private:
  struct Open {
    Interval time;
    std::uint32_t name;
  };
  void sort();
  std::vector<Open> all_;   // by begin
  std::vector<Open> open_;  // begun, the latest last; what ended may lie below what did not
  std::size_t next_ = 0;
};

}  // namespace genscope::analysis

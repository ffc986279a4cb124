// The order in which a pass over a trace meets each track's spans together.
#pragma once

#include <cstdint>
#include <vector>

#include <genscope/trace.h>

namespace genscope::analysis {

// Visits spans track by track; within a track in the order of the columns. When the columns are
// already so, as the reader leaves them, this takes no memory per span.
class TrackOrder {
 public:
  // The places [first, last) of one track's spans.
  struct Stretch {
    std::size_t first = 0;
    std::size_t last = 0;
  };

  explicit TrackOrder(const Trace& trace);

  // The span at a place.
  std::size_t operator[](std::size_t place) const noexcept {
    return order_.empty() ? place : order_[place];
  }
  // Of the tracks that have spans, one each.
  const std::vector<Stretch>& stretches() const noexcept { return stretches_; }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<Stretch> stretches_;
};

}  // namespace genscope::analysis

// The order in which a pass over a trace meets each track's spans together.
#pragma once

#include <cstdint>
#include <vector>

#include <genscope/trace.h>

namespace genscope::analysis {

// Visits spans track by track; within a track in the order of the columns. When the columns are
// already so, as the reader leaves them, this holds nothing.
class TrackOrder {
 public:
  explicit TrackOrder(const Trace& trace);

  std::size_t operator[](std::size_t place) const noexcept {
    return order_.empty() ? place : order_[place];
  }

 private:
  std::vector<std::uint32_t> order_;
};

}  // namespace genscope::analysis

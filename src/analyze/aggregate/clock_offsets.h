// How far the Unix clocks of two ranks are apart, from the moments at which both leave a
// collective.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <genscope/analyze.h>

namespace genscope::analysis {

struct MeetingOffset {
  double offset_seconds = 0;  // of `other` ahead of `reference`
  double error_seconds = 0;   // what lies between the median and the 2.5th or 97.5th percentile
  std::uint64_t meetings = 0;
};
inline constexpr std::size_t kMinMeetings = 5;

// The median of the differences of the k-th ends, over the meetings that are the same operation in
// the same order from the first on. Nothing with fewer than kMinMeetings of these.
std::optional<MeetingOffset> meeting_offset(std::span<const Meeting> reference,
                                            std::span<const Meeting> other);

}  // namespace genscope::analysis

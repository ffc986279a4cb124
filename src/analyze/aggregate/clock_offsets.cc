#include "analyze/aggregate/clock_offsets.h"

#include <algorithm>

#include "analyze/statistics/statistics.h"
#include "analyze/time.h"

namespace genscope::analysis {

std::optional<MeetingOffset> meeting_offset(std::span<const Meeting> reference,
                                            std::span<const Meeting> other) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(reference.size(), other.size()); ++i) {
    if (reference[i].operation != other[i].operation) break;
    differences.push_back(
        static_cast<double>(subtract(other[i].end_unix_ns, reference[i].end_unix_ns)) / 1e9);
  }
  if (differences.size() < kMinMeetings) return std::nullopt;
  const auto low = stats::quantile(differences, 0.025);
  const auto median = stats::quantile(differences, 0.5);
  const auto high = stats::quantile(differences, 0.975);
  return MeetingOffset{*median, std::max(*high - *median, *median - *low), differences.size()};
}

}  // namespace genscope::analysis

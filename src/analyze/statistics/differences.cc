#include "analyze/statistics/differences.h"

#include <numeric>

#include "analyze/statistics/doubles.h"

namespace genscope::stats {

std::uint64_t Differences::at_most(double value) const noexcept {
  std::uint64_t count = 0;
  std::size_t j = 0;
  for (const double b : before_) {
    while (j < after_.size() && after_[j] - b <= value) ++j;
    count += j;
  }
  return count;
}

double Differences::at(std::uint64_t place) const noexcept {
  std::int64_t low = ordinal(after_.front() - before_.back());
  std::int64_t high = ordinal(after_.back() - before_.front());
  while (low < high) {
    const std::int64_t middle = middle_of(low, high);
    if (at_most(from_ordinal(middle)) >= place) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return from_ordinal(low);
}

double Differences::median() const noexcept {
  const std::uint64_t n = size();
  const double upper = at(n / 2 + 1);
  return n % 2 == 1 ? upper : std::midpoint(at(n / 2), upper);
}

}  // namespace genscope::stats

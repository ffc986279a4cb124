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
  return first_where(after_.front() - before_.back(), after_.back() - before_.front(),
                     [&](double value) { return at_most(value) >= place; });
}

double Differences::median() const noexcept {
  const std::uint64_t n = size();
  const double upper = at(n / 2 + 1);
  return n % 2 == 1 ? upper : std::midpoint(at(n / 2), upper);
}

}  // namespace genscope::stats

// Exact percentiles, nearest rank: the value at place ceil(p/100 * n) of the sorted values, from 1.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace genscope::analysis {

// Index of the percentile in n sorted values, n > 0.
constexpr std::size_t nearest_rank(std::size_t n, unsigned percent) noexcept {
  // Split by 100 so that the product cannot overflow.
  const std::size_t place = n / 100 * percent + (n % 100 * percent + 99) / 100;
  return place == 0 ? 0 : place - 1;
}

// Picks values by their rank, several of the same set. Few values are sorted. Many are counted
// into buckets of equal width, and a pick then looks into one bucket only; nth_element would pass
// over all values a few times for each pick. Keeps a view of the values.
class Selector {
 public:
  explicit Selector(std::span<const std::uint32_t> values) : values_(values) {
    if (values.size() <= kFew) {
      scratch_.assign(values.begin(), values.end());
      std::sort(scratch_.begin(), scratch_.end());
      return;
    }
    std::uint32_t high = 0;
    low_ = values[0];
    for (const std::uint32_t value : values) {
      low_ = std::min(low_, value);
      high = std::max(high, value);
    }
    const auto bits = static_cast<int>(std::bit_width(high - low_));
    shift_ = std::max(0, bits - kBucketBits);
    counts_.resize(std::size_t{1} << kBucketBits);
    for (const std::uint32_t value : values) ++counts_[bucket(value)];
  }

  // The value at `rank` < size of the sorted values.
  std::uint32_t at(std::size_t rank) {
    if (values_.size() <= kFew) return scratch_[rank];
    std::size_t index = 0;
    for (; rank >= counts_[index]; ++index) rank -= counts_[index];
    if (shift_ == 0) return low_ + static_cast<std::uint32_t>(index);
    scratch_.clear();
    for (const std::uint32_t value : values_) {
      if (bucket(value) == index) scratch_.push_back(value);
    }
    const auto place = scratch_.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(scratch_.begin(), place, scratch_.end());
    return *place;
  }

 private:
  static constexpr int kBucketBits = 11;
  static constexpr std::size_t kFew = 1024;

  std::size_t bucket(std::uint32_t value) const noexcept { return (value - low_) >> shift_; }

  std::span<const std::uint32_t> values_;
  std::uint32_t low_ = 0;
  int shift_ = 0;
  std::vector<std::size_t> counts_;  // per bucket
  std::vector<std::uint32_t> scratch_;
};

}  // namespace genscope::analysis

// A bucket is an exponent and the first 6 bits of a mantissa: its number is the top of the double's
// bits, its width 1/64 of its power of two. Numbers go on below the least normal exponent, so that
// subnormal values have buckets of the same relative width.
//
//   number      -3264 ...     0 ..      63   64 ..     127   ...   130944 ..  131007
//   magnitude   2^-1074       2^-1023         2^-1022               2^1023
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>

#include "analyze/statistics/order.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {
namespace {

constexpr int kBits = 6;
constexpr int kPerOctave = 1 << kBits;
constexpr int kDropped = 52 - kBits;  // bits of the mantissa that a bucket forgets
constexpr int kLift = 64;             // subnormal * 2^64 is normal
constexpr int kLeast = -51 * kPerOctave;
constexpr int kGreatest = 2047 * kPerOctave - 1;

int bucket_of(double magnitude) noexcept {
  const bool subnormal = magnitude < std::numeric_limits<double>::min();
  const double normal = subnormal ? magnitude * 0x1p64 : magnitude;
  const auto top = static_cast<int>(std::bit_cast<std::uint64_t>(normal) >> kDropped);
  return subnormal ? top - kLift * kPerOctave : top;
}

// Half way through the bucket: at most 1/128 from any of its values.
double middle_of_bucket(int bucket) noexcept {
  const bool low = bucket < kPerOctave;  // its exponent is not that of a normal double
  const auto top = static_cast<std::uint64_t>(low ? bucket + kLift * kPerOctave : bucket);
  const double middle = std::bit_cast<double>((top << kDropped) | (1ull << (kDropped - 1)));
  return low ? middle * 0x1p-64 : middle;
}

std::uint64_t add_saturating(std::uint64_t a, std::uint64_t b) noexcept {
  return a > ~b ? ~std::uint64_t{0} : a + b;
}

}  // namespace

// Grows by half at least, so that values that creep up or down cost O(1) each.
void Histogram::Buckets::cover(int low, int high) {
  const int end = first + static_cast<int>(counts.size());
  if (!counts.empty() && low >= first && high < end) return;
  const int slack = std::max(kPerOctave, static_cast<int>(counts.size() / 2));
  int from = low, to = high + 1;
  if (!counts.empty()) {
    from = low < first ? std::max(kLeast, low - slack) : first;
    to = high >= end ? std::min(kGreatest + 1, high + 1 + slack) : end;
  }
  std::vector<std::uint64_t> grown(static_cast<std::size_t>(to - from));
  std::copy(counts.begin(), counts.end(), grown.begin() + (counts.empty() ? 0 : first - from));
  counts = std::move(grown);
  first = from;
}

void Histogram::Buckets::cover(const Buckets& other) {
  if (other.counts.empty()) return;
  cover(other.first, other.first + static_cast<int>(other.counts.size()) - 1);
}

void Histogram::Buckets::add(int bucket, std::uint64_t count) noexcept {
  try {
    cover(bucket, bucket);
  } catch (const std::bad_alloc&) {
    if (counts.empty()) return;
    bucket = std::clamp(bucket, first, first + static_cast<int>(counts.size()) - 1);
  }
  std::uint64_t& place = counts[static_cast<std::size_t>(bucket - first)];
  place = add_saturating(place, count);
}

void Histogram::Buckets::merge(const Buckets& other) {
  if (other.counts.empty()) return;
  cover(other);
  std::uint64_t* const to = counts.data() + (other.first - first);
  for (std::size_t i = 0; i < other.counts.size(); ++i) {
    to[i] = add_saturating(to[i], other.counts[i]);
  }
}

void Histogram::add_to_sum(double value) noexcept {
  const double next = sum_ + value;
  correction_ +=
      std::fabs(sum_) >= std::fabs(value) ? (sum_ - next) + value : (value - next) + sum_;
  sum_ = next;
}

void Histogram::add(double value, std::uint64_t count) noexcept {
  if (count == 0) return;
  if (!std::isfinite(value)) {
    not_finite_ = add_saturating(not_finite_, count);
    return;
  }
  if (value > 0) {
    positive_.add(bucket_of(value), count);
  } else if (value < 0) {
    negative_.add(bucket_of(-value), count);
  } else {
    zeros_ = add_saturating(zeros_, count);
  }
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  count_ = add_saturating(count_, count);
  if (count == 1) return add_to_sum(value);
  const double product = value * static_cast<double>(count);
  add_to_sum(product);
  if (std::isfinite(product)) {
    add_to_sum(std::fma(value, static_cast<double>(count), -product));
  }
}

void Histogram::merge(const Histogram& other) {
  positive_.cover(other.positive_);  // before anything is added: all or nothing
  negative_.cover(other.negative_);
  positive_.merge(other.positive_);
  negative_.merge(other.negative_);
  not_finite_ = add_saturating(not_finite_, other.not_finite_);
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  zeros_ = add_saturating(zeros_, other.zeros_);
  count_ = add_saturating(count_, other.count_);
  const double sum = other.sum_, correction = other.correction_;  // `other` may be this
  add_to_sum(sum);
  add_to_sum(correction);
}

std::optional<double> Histogram::quantile(double p) const {
  if (count_ == 0 || !(p >= 0 && p <= 1)) return std::nullopt;
  if (p == 0) return min_;
  if (p == 1) return max_;
  std::uint64_t left = nearest_place(p, count_);
  const auto within = [&](double value) { return std::clamp(value, min_, max_); };
  for (std::size_t i = negative_.counts.size(); i-- > 0;) {
    if (left <= negative_.counts[i]) {
      return within(-middle_of_bucket(negative_.first + static_cast<int>(i)));
    }
    left -= negative_.counts[i];
  }
  if (left <= zeros_) return 0.0;
  left -= zeros_;
  for (std::size_t i = 0; i < positive_.counts.size(); ++i) {
    if (left <= positive_.counts[i]) {
      return within(middle_of_bucket(positive_.first + static_cast<int>(i)));
    }
    left -= positive_.counts[i];
  }
  return max_;
}

std::optional<double> Histogram::min() const {
  return count_ == 0 ? std::nullopt : std::optional(min_);
}

std::optional<double> Histogram::max() const {
  return count_ == 0 ? std::nullopt : std::optional(max_);
}

std::optional<double> Histogram::mean() const {
  if (count_ == 0) return std::nullopt;
  const double mean = (sum_ + correction_) / static_cast<double>(count_);
  return std::isfinite(mean) ? std::optional(std::clamp(mean, min_, max_)) : std::nullopt;
}

std::size_t Histogram::bytes() const noexcept {
  return sizeof(*this) +
         (positive_.counts.capacity() + negative_.counts.capacity()) * sizeof(std::uint64_t);
}

}  // namespace genscope::stats

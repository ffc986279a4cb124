#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "analyze/statistics/statistics.h"
#include "testing/random.h"
#include "testing/units.h"

namespace genscope::stats {
namespace {

using testing::kInfinity;
using testing::kLargest;
using testing::kTiniest;
constexpr double kSteps = 97;

// Any finite double, each exponent alike.
double any_double(testing::Random& random) {
  for (;;) {
    const double value = std::bit_cast<double>(random.next());
    if (std::isfinite(value)) return value;
  }
}

// Durations in seconds, some negative (clock differences), some zero.
double some_duration(testing::Random& random) {
  const double value = std::exp(static_cast<double>(random.below(20'000)) / 1000 - 12);
  return random.one_in(10) ? 0 : random.one_in(7) ? -value : value;
}

Histogram of(const std::vector<double>& values) {
  Histogram h;
  for (const double value : values) h.add(value);
  return h;
}

void expect_same(const Histogram& a, const Histogram& b) {
  EXPECT_EQ(a.count(), b.count());
  EXPECT_EQ(a.not_finite(), b.not_finite());
  EXPECT_EQ(a.min(), b.min());
  EXPECT_EQ(a.max(), b.max());
  for (double i = 0; i <= kSteps; ++i) EXPECT_EQ(a.quantile(i / kSteps), b.quantile(i / kSteps));
}

TEST(Histogram, QuantilesAreWithinOnePercent) {
  testing::Random random(31);
  for (int round = 0; round < 60; ++round) {
    std::vector<double> values(1 + random.below(500));
    for (double& v : values) v = round % 2 == 0 ? some_duration(random) : any_double(random);
    const Histogram h = of(values);
    for (double i = 0; i <= kSteps; ++i) {
      const double exact = *quantile(values, i / kSteps, QuantileMethod::nearest_rank);
      EXPECT_LE(std::fabs(*h.quantile(i / kSteps) - exact), 0.008 * std::fabs(exact)) << exact;
    }
    EXPECT_EQ(h.quantile(0), h.min());
    EXPECT_EQ(h.quantile(1), h.max());
  }
}

TEST(Histogram, SubnormalsAreAsExactAsOthers) {
  for (double value = kTiniest; value < 1e-300; value *= 3) {
    Histogram h;
    h.add(value / 3 * 2, 2);
    h.add(value, 3);
    h.add(value * 9, 2);
    EXPECT_LE(std::fabs(*h.quantile(0.5) - value), 0.01 * value) << value;
  }
}

TEST(Histogram, MergeIsThatOfTheWholeInAnyOrder) {
  testing::Random random(32);
  for (int round = 0; round < 30; ++round) {
    std::vector<double> all;
    std::vector<Histogram> parts(3);
    for (Histogram& part : parts) {
      for (std::uint64_t i = random.below(200); i > 0; --i) {
        const double v = round % 2 == 0 ? some_duration(random) : any_double(random);
        all.push_back(v);
        part.add(v);
      }
      if (random.one_in(3)) {
        all.push_back(kInfinity);
        part.add(kInfinity);
      }
    }
    Histogram left = parts[0];
    left.merge(parts[1]);
    left.merge(parts[2]);
    Histogram right = parts[1];
    right.merge(parts[2]);
    Histogram other = parts[0];
    other.merge(right);
    expect_same(left, other);
    expect_same(left, of(all));
    if (round % 2 == 0 && left.count() > 0) {
      EXPECT_NEAR(*left.mean(), *of(all).mean(), 1e-9 * std::fabs(*left.max()));
    }
  }
}

TEST(Histogram, MergesWithItselfAndWithNothing) {
  Histogram h = of({-2, 0, 1, 4});
  h.merge(Histogram());
  expect_same(h, of({-2, 0, 1, 4}));
  h.merge(h);
  expect_same(h, of({-2, -2, 0, 0, 1, 1, 4, 4}));
  EXPECT_EQ(h.mean(), 0.75);
  Histogram empty;
  empty.merge(h);
  expect_same(empty, h);
}

TEST(Histogram, OfNothingHasNoFigures) {
  Histogram h;
  h.add(5, 0);
  EXPECT_EQ(h.count(), 0u);
  EXPECT_FALSE(h.quantile(0.5) || h.min() || h.max() || h.mean());
  h.add(std::nan(""));
  h.add(kInfinity, 2);
  h.add(-kInfinity);
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.not_finite(), 4u);
  EXPECT_FALSE(h.quantile(0.5));
  h.add(1);
  EXPECT_EQ(h.quantile(0.5), 1);
  EXPECT_FALSE(h.quantile(-0.1) || h.quantile(1.1) || h.quantile(std::nan("")));
}

TEST(Histogram, CountsBeyondTwoToThe53) {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 53;
  Histogram h;
  h.add(1, kMany);
  h.add(1);
  h.add(3, kMany + 1);
  EXPECT_EQ(h.count(), 2 * kMany + 2);
  EXPECT_LE(std::fabs(*h.quantile(0.49) - 1), 0.01);
  EXPECT_LE(std::fabs(*h.quantile(0.51) - 3), 0.03);
  EXPECT_DOUBLE_EQ(*h.mean(), 2);
  h.add(5, ~std::uint64_t{0});
  EXPECT_EQ(h.count(), ~std::uint64_t{0}) << "stops instead of starting again at 0";
  EXPECT_LE(std::fabs(*h.quantile(0.9) - 5), 0.05);
}

TEST(Histogram, MeanKeepsSmallValuesBesideLargeOnes) {
  Histogram h;
  h.add(1e16);
  h.add(1, 1000);
  h.add(-1e16);
  EXPECT_DOUBLE_EQ(*h.mean(), 1000.0 / 1002);
}

TEST(Histogram, MeanIsAbsentWhereTheSumOverflows) {
  const Histogram h = of({kLargest, kLargest, 1});
  EXPECT_FALSE(h.mean());
  EXPECT_EQ(h.max(), kLargest);
  EXPECT_LE(std::fabs(*h.quantile(0.5) / kLargest - 1), 0.01);
  Histogram product;
  product.add(1e300, std::uint64_t{1} << 53);
  EXPECT_FALSE(product.mean());
}

TEST(Histogram, EqualValuesAreExact) {
  Histogram h;
  h.add(0.1, 1000);
  EXPECT_EQ(h.quantile(0.5), 0.1);
  EXPECT_DOUBLE_EQ(*h.mean(), 0.1);
  Histogram zeros;
  zeros.add(0.0, 2);
  zeros.add(-0.0);
  EXPECT_EQ(zeros.count(), 3u);
  EXPECT_EQ(zeros.quantile(0.5), 0);
}

TEST(Histogram, MemoryIsBoundedWhateverTheValues) {
  Histogram h;
  testing::Random random(33);
  for (double v = kLargest; v > 0; v /= 3) h.add(v);
  for (double v = -kTiniest; v > -kInfinity; v *= 1.9) h.add(v);
  for (int i = 0; i < 100'000; ++i) h.add(any_double(random));
  EXPECT_LT(h.bytes(), 2'200'000u);

  Histogram durations;
  for (double v = 1e-6; v < 3600; v *= 1.001) durations.add(v);
  EXPECT_LT(durations.bytes(), 32'768u + sizeof(Histogram));
}

}  // namespace
}  // namespace genscope::stats

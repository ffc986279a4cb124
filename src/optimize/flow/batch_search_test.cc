#include <gtest/gtest.h>

#include <genscope/optimize/batch.h>

#include "testing/random.h"

namespace genscope::optimize {
namespace {

// A device of 24 GB whose reports of memory are off by up to `noise`.
struct SearchDevice {
  double m0 = 4e9, m1 = 0.5e9, noise = 0;
  double a = 1, c = 0.001;  // seconds: batches pay all the way
  double capacity = 24e9;
  testing::Random random{1};
  int out_of_memory = 0;

  BatchProbe operator()(std::size_t b) {
    const double bytes = m0 + m1 * static_cast<double>(b);
    BatchProbe seen;
    seen.fits = bytes <= capacity;
    if (!seen.fits) {
      ++out_of_memory;
      return seen;
    }
    const double uniform = static_cast<double>(random.next() >> 11) * 0x1.0p-53;
    seen.bytes = bytes * (1 + noise * (2 * uniform - 1));
    seen.seconds = a + c * static_cast<double>(b);
    return seen;
  }
  BatchSearch search(const BatchSearchOptions& options = {}) {
    return optimal_batch([this](std::size_t b) { return (*this)(b); }, capacity, options);
  }
};

TEST(OptimalBatch, FindsTheCeilingExactlyWithoutNoise) {
  SearchDevice device;
  const BatchSearch found = device.search();
  EXPECT_EQ(found.batch, 40u);
  EXPECT_EQ(found.smallest_out, 41u);
  EXPECT_LE(found.probes.size(), 6u);
  EXPECT_EQ(found.out_of_memory, 1);
  EXPECT_NEAR(*found.base_bytes, 4e9, 1e3);
  EXPECT_NEAR(*found.bytes_per_item, 0.5e9, 1e3);
  EXPECT_EQ(found.reason, "the next larger batch does not fit");
}

TEST(OptimalBatchProperty, IsWithinOneInEightProbesAndTwoOutOfMemory) {
  testing::Random random(8);
  const auto between = [&random](double low, double high) {
    return low + (high - low) * static_cast<double>(random.next() >> 11) * 0x1.0p-53;
  };
  for (int i = 0; i < 1000; ++i) {
    SearchDevice device;
    device.random = testing::Random(random.next());
    device.noise = between(0, 0.0075);
    device.m0 = between(2e9, 18e9);
    const std::size_t ceiling = 1 + random.below(64);
    device.m1 =
        (device.capacity - device.m0) / (static_cast<double>(ceiling) + between(0.05, 0.95));
    const BatchSearch found = device.search();
    EXPECT_LE(found.batch, ceiling);
    EXPECT_GE(found.batch + 1, ceiling) << device.m0 << " " << device.m1;
    EXPECT_LE(found.probes.size(), 8u);
    EXPECT_LE(device.out_of_memory, 2);
    EXPECT_EQ(device.out_of_memory, found.out_of_memory);
  }
}

TEST(OptimalBatch, StopsWhereALargerBatchIsHardlyFaster) {
  SearchDevice device;
  device.a = 0.01;
  device.c = 0.5;
  const BatchSearch found = device.search();
  EXPECT_EQ(found.batch, 1u);
  EXPECT_EQ(found.reason, "a larger batch is hardly faster");
  EXPECT_EQ(found.probes.size(), 2u);
  EXPECT_EQ(device.out_of_memory, 0);
}

TEST(OptimalBatch, SaysIfNotEvenOneFits) {
  SearchDevice device;
  device.m0 = 30e9;
  const BatchSearch found = device.search();
  EXPECT_EQ(found.batch, 0u);
  EXPECT_EQ(found.reason, "not even a batch of one fits");
}

TEST(OptimalBatch, RemembersWhatRanOut) {
  BatchCeilings ceilings;
  SearchDevice device;
  BatchSearchOptions options;
  options.key = "sdxl 1024 bf16";
  options.ceilings = &ceilings;
  EXPECT_EQ(device.search(options).batch, 40u);
  EXPECT_EQ(ceilings.smallest_out("sdxl 1024 bf16"), 41u);
  device.out_of_memory = 0;
  EXPECT_EQ(device.search(options).batch, 40u);
  EXPECT_EQ(device.out_of_memory, 0);  // it was known
  EXPECT_FALSE(ceilings.smallest_out("another"));
}

TEST(OptimalBatch, WorksWithoutBytes) {
  SearchDevice device;
  device.m1 = 2e9;  // ceiling 10
  const BatchSearch found = optimal_batch(
      [&](std::size_t b) {
        BatchProbe seen = device(b);
        seen.bytes.reset();
        return seen;
      },
      0);
  EXPECT_GE(found.batch, 8u);
  EXPECT_LE(found.batch, 10u);
  EXPECT_FALSE(found.base_bytes);
}

TEST(OptimalBatch, StaysWithinABudgetBelowTheDevice) {
  SearchDevice device;
  const BatchSearch found = optimal_batch([&](std::size_t b) { return device(b); }, 14e9);
  EXPECT_EQ(found.batch, 20u);
  EXPECT_EQ(device.out_of_memory, 0);
}

TEST(OptimalBatch, NeverTriesMoreThanAsked) {
  SearchDevice device;
  BatchSearchOptions options;
  options.most = 6;
  const BatchSearch found = device.search(options);
  EXPECT_EQ(found.batch, 6u);
  EXPECT_EQ(found.reason, "it is the largest that may be tried");
}

}  // namespace
}  // namespace genscope::optimize

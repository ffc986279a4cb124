#include "report/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace genscope::report {
namespace {

TEST(Format, DurationsHaveThreeDigitsAndTheUnitThatFits) {
  EXPECT_EQ(duration(std::int64_t{0}), "0 ns");
  EXPECT_EQ(duration(std::int64_t{7}), "7 ns");
  EXPECT_EQ(duration(12.345), "12.3 ns");
  EXPECT_EQ(duration(std::int64_t{999}), "999 ns");
  EXPECT_EQ(duration(std::int64_t{1'234}), "1.23 us");
  EXPECT_EQ(duration(std::int64_t{12'345}), "12.3 us");
  EXPECT_EQ(duration(std::int64_t{123'456}), "123 us");
  EXPECT_EQ(duration(std::int64_t{200'000'000}), "200 ms");
  EXPECT_EQ(duration(std::int64_t{98'700'000'000}), "98.7 s");
  EXPECT_EQ(duration(std::int64_t{1'234'567'000'000'000}), "1,234,567 s");
  EXPECT_EQ(duration(std::int64_t{1'234}, true), "1.23us");
  EXPECT_EQ(duration(std::int64_t{-1'234}), "-1.23 us");
}

TEST(Format, DurationsOfDamagedFilesAreTextToo) {
  EXPECT_EQ(duration(std::numeric_limits<double>::infinity()), "inf s");
  EXPECT_EQ(duration(-std::numeric_limits<double>::infinity()), "-inf s");
  EXPECT_EQ(duration(std::nan("")), "nan s");
  EXPECT_EQ(duration(1e300), "1e+291 s");
}

TEST(Format, RoundingUpMovesToTheNextUnit) {
  EXPECT_EQ(duration(std::int64_t{999'499}), "999 us");
  EXPECT_EQ(duration(std::int64_t{999'600}), "1.00 ms");
  EXPECT_EQ(duration(std::int64_t{9'996}), "10.0 us");
  EXPECT_EQ(duration(std::int64_t{99'960}), "100 us");
}

TEST(Format, CountsHaveSeparators) {
  EXPECT_EQ(count(0), "0");
  EXPECT_EQ(count(999), "999");
  EXPECT_EQ(count(1'000), "1,000");
  EXPECT_EQ(count(12'345'678), "12,345,678");
  EXPECT_EQ(counted(1, "span", "spans"), "1 span");
  EXPECT_EQ(counted(0, "span", "spans"), "0 spans");
}

TEST(Format, Bytes) {
  EXPECT_EQ(bytes(0), "0 B");
  EXPECT_EQ(bytes(1023), "1023 B");
  EXPECT_EQ(bytes(1536), "1.50 KiB");
  EXPECT_EQ(bytes(std::uint64_t{5} << 30), "5.00 GiB");
}

TEST(Format, Percent) {
  EXPECT_EQ(percent(1), "100%");
  EXPECT_EQ(percent(0.452), "45.2%");
  EXPECT_EQ(percent(0.0452), "4.52%");
  EXPECT_EQ(percent(0.0005), "0.05%");
  EXPECT_EQ(percent(12), "1200%");
}

TEST(Format, Times) {
  EXPECT_EQ(utc_time(1'700'000'000'123'456'789), "2023-11-14 22:13:20 UTC");
  EXPECT_EQ(rfc3339(1'700'000'000'123'456'789), "2023-11-14T22:13:20.123456789Z");
  EXPECT_EQ(rfc3339(-1), "1969-12-31T23:59:59.999999999Z");
}

TEST(Format, EnergyTurnsIntoWattHours) {
  EXPECT_EQ(energy(0.25), "0.25 J");
  EXPECT_EQ(energy(3000), "3000 J");
  EXPECT_EQ(energy(5400), "1.5 Wh");
}

}  // namespace
}  // namespace genscope::report

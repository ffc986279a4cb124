#include "probe/drm/gpu_metrics.h"

#include <gtest/gtest.h>

#include "probe/drm/test_tree.h"
#include "trace/metrics.h"

namespace genscope::probe::drm {
namespace {

GpuMetrics decode(const std::string& blob) {
  GpuMetrics metrics;
  EXPECT_TRUE(decode_gpu_metrics(blob, metrics));
  return metrics;
}

TEST(GpuMetrics, ReadsVersion13) {
  const GpuMetrics m = decode(TestTree::blob_13());
  EXPECT_TRUE(m.known);
  EXPECT_EQ(m.temperature_celsius, 61);
  EXPECT_EQ(m.temperature_hotspot_celsius, 72);
  EXPECT_EQ(m.temperature_memory_celsius, 83);
  EXPECT_EQ(m.busy_ratio, 0.44);
  EXPECT_EQ(m.memory_busy_ratio, 0.22);
  EXPECT_EQ(m.power_watts, 150);
  EXPECT_EQ(m.clock_core_mhz, 2100);
  EXPECT_EQ(m.clock_memory_mhz, 1200);
  EXPECT_EQ(m.link_lanes, 16);
  EXPECT_EQ(m.link_gigatransfers, 16);
  EXPECT_FALSE(m.energy_joules) << "before 1.4 its unit is not known";
  EXPECT_EQ(m.throttle_reasons, trace::kThrottlePowerCap | trace::kThrottleThermalSoftware);
}

TEST(GpuMetrics, IgnoresPadding) {
  EXPECT_EQ(decode(TestTree::padded(TestTree::blob_13())).power_watts, 150);
}

TEST(GpuMetrics, ReadsEnergyAndLinksFrom14On) {
  const GpuMetrics m = decode(make_blob(1, 4, 288,
                                        {{4, 2, 70},
                                         {10, 2, 500},
                                         {12, 2, 99},
                                         {24, 8, 1000000},
                                         {40, 4, 0},
                                         {104, 8, 3},
                                         {112, 8, 4},
                                         {168, 8, 10},
                                         {240, 2, 2050},
                                         {280, 2, 1300}}));
  EXPECT_FALSE(m.temperature_celsius);
  EXPECT_EQ(m.temperature_hotspot_celsius, 70);
  EXPECT_EQ(m.power_watts, 500);
  EXPECT_EQ(m.busy_ratio, 0.99);
  EXPECT_NEAR(m.energy_joules.value(), 15.259, 1e-9);
  EXPECT_EQ(m.xgmi_receive_bytes, 7 * 1024) << "links that are not there do not count";
  EXPECT_EQ(m.xgmi_send_bytes, 10 * 1024);
  EXPECT_EQ(m.clock_core_mhz, 2050);
  EXPECT_EQ(m.clock_memory_mhz, 1300);
  EXPECT_EQ(m.throttle_reasons, 0u);

  const GpuMetrics later = decode(make_blob(1, 5, 360, {{88, 8, 2000000}, {104, 4, 5}}));
  EXPECT_NEAR(later.energy_joules.value(), 30.518, 1e-9);
  EXPECT_EQ(later.throttle_reasons, trace::kThrottleOther) << "these bits differ by chip";
}

TEST(GpuMetrics, ReadsOldAndApuVersions) {
  EXPECT_EQ(decode(make_blob(1, 0, 80, {{16, 2, 40}, {34, 2, 90}})).power_watts, 90);
  EXPECT_EQ(decode(make_blob(1, 1, 96, {{22, 2, 91}})).power_watts, 91);
  EXPECT_EQ(decode(make_blob(1, 2, 104, {{22, 2, 92}})).power_watts, 92);
  EXPECT_NEAR(decode(make_blob(2, 0, 120, {{44, 2, 3500}})).power_watts.value(), 3.5, 1e-12);
  for (const auto& [content, size] : {std::pair{1, 120}, {2, 128}, {3, 152}, {4, 168}}) {
    const GpuMetrics m = decode(make_blob(2, content, static_cast<std::size_t>(size),
                                          {{4, 2, 4512}, {28, 2, 79}, {40, 2, 3401}}));
    EXPECT_NEAR(m.temperature_celsius.value(), 45.12, 1e-9);
    EXPECT_NEAR(m.power_watts.value(), 3.401, 1e-9);
    EXPECT_FALSE(m.busy_ratio) << "percent on some chips, hundredths of it on others";
  }
  const GpuMetrics m =
      decode(make_blob(3, 0, 264, {{4, 2, 5000}, {42, 2, 37}, {112, 4, 54321}, {174, 2, 2900}}));
  EXPECT_NEAR(m.temperature_celsius.value(), 50, 1e-9);
  EXPECT_EQ(m.busy_ratio, 0.37);
  EXPECT_NEAR(m.power_watts.value(), 54.321, 1e-9);
  EXPECT_EQ(m.clock_core_mhz, 2900);
  EXPECT_FALSE(m.throttle_reasons);
}

TEST(GpuMetrics, AllOnesIsNotAvailable) {
  const GpuMetrics m = decode(make_blob(1, 3, 120, {}));
  EXPECT_TRUE(m.known);
  EXPECT_FALSE(m.temperature_celsius || m.power_watts || m.busy_ratio || m.clock_core_mhz ||
               m.throttle_reasons);
}

TEST(GpuMetrics, KeepsOnlyTheHeaderOfUnknownVersions) {
  for (const auto& [format, content, size] : {std::tuple{1, 9, 120}, {4, 0, 500}, {1, 3, 200}}) {
    const GpuMetrics m =
        decode(make_blob(format, content, static_cast<std::size_t>(size), {{22, 2, 150}}));
    EXPECT_EQ(m.format, format);
    EXPECT_EQ(m.content, content);
    EXPECT_FALSE(m.known);
    EXPECT_FALSE(m.power_watts);
  }
}

TEST(GpuMetrics, RefusesWhatIsShorterThanItSays) {
  GpuMetrics metrics;
  const std::string blob = TestTree::blob_13();
  for (std::size_t size = 0; size < blob.size(); ++size) {
    EXPECT_FALSE(decode_gpu_metrics(std::span(blob.data(), size), metrics)) << size;
  }
}

TEST(GpuMetrics, MapsIndependentThrottleBits) {
  EXPECT_EQ(throttle_bits_of_amd(0), 0u);
  EXPECT_EQ(throttle_bits_of_amd(1ull << 6), trace::kThrottlePowerCap);
  EXPECT_EQ(throttle_bits_of_amd(1ull << 16), trace::kThrottleCurrent);
  EXPECT_EQ(throttle_bits_of_amd(1ull << 34), trace::kThrottleThermalSoftware);
  EXPECT_EQ(throttle_bits_of_amd(1ull << 47), trace::kThrottleThermalHardware);
  EXPECT_EQ(throttle_bits_of_amd(1ull << 57), trace::kThrottleOther);
  EXPECT_EQ(throttle_bits_of_amd(1ull << 12), trace::kThrottleOther);
}

}  // namespace
}  // namespace genscope::probe::drm

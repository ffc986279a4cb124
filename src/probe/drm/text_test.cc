#include "probe/drm/text.h"

#include <gtest/gtest.h>

#include "trace/metrics.h"

namespace genscope::probe::drm {
namespace {

TEST(DrmText, ReadsHexadecimal) {
  std::uint32_t value = 7;
  EXPECT_TRUE(parse_hex("0x1002", value));
  EXPECT_EQ(value, 0x1002u);
  EXPECT_TRUE(parse_hex("744C", value));
  EXPECT_EQ(value, 0x744Cu);
  for (const char* bad : {"", "0x", "12g", "0x123456789"}) EXPECT_FALSE(parse_hex(bad, value));
  EXPECT_EQ(value, 0x744Cu);
}

TEST(DrmText, FindsValuesOfUevent) {
  const char* const text = "DRIVER=amdgpu\nPCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0";
  EXPECT_EQ(uevent_value(text, "PCI_SLOT_NAME"), "0000:03:00.0");
  EXPECT_EQ(uevent_value(text, "DRIVER"), "amdgpu");
  EXPECT_EQ(uevent_value(text, "PCI"), "");
}

TEST(DrmText, TakesTheStarredRow) {
  double mhz = 0;
  EXPECT_TRUE(parse_starred_mhz("0: 500Mhz \n1: 1900Mhz *\n2: 2500Mhz \n", mhz));
  EXPECT_EQ(mhz, 1900);
  EXPECT_TRUE(parse_starred_mhz("S: 19Mhz *\n0: 500Mhz\n1: 2070Mhz", mhz));
  EXPECT_EQ(mhz, 19);
  EXPECT_TRUE(parse_highest_mhz("0: 500Mhz \n1: 1900Mhz *\n2: 700Mhz \nnonsense", mhz));
  EXPECT_EQ(mhz, 1900);
  EXPECT_FALSE(parse_starred_mhz("0: 500Mhz\n1: 600Mhz", mhz));
  EXPECT_FALSE(parse_starred_mhz("0: 2.5GT/s, x1 *", mhz));
  EXPECT_FALSE(parse_highest_mhz("", mhz));
}

TEST(DrmText, TurnsLinkSpeedIntoGeneration) {
  double generation = 0;
  const std::pair<const char*, double> rows[] = {{"2.5 GT/s PCIe", 1},  {"5.0 GT/s PCIe", 2},
                                                 {"8.0 GT/s PCIe", 3},  {"16.0 GT/s PCIe", 4},
                                                 {"32.0 GT/s PCIe", 5}, {"64.0 GT/s PCIe", 6}};
  for (const auto& [text, expected] : rows) {
    EXPECT_TRUE(parse_link_generation(text, generation)) << text;
    EXPECT_EQ(generation, expected) << text;
  }
  for (const char* bad : {"Unknown", "", "16.0", "17 GT/s"}) {
    EXPECT_FALSE(parse_link_generation(bad, generation)) << bad;
  }
}

TEST(DrmText, NamesIntelsThrottleReasons) {
  EXPECT_EQ(throttle_bit("pl1"), trace::kThrottlePowerCap);
  EXPECT_EQ(throttle_bit("psys_pl2"), trace::kThrottlePowerCap);
  EXPECT_EQ(throttle_bit("thermal"), trace::kThrottleThermalSoftware);
  EXPECT_EQ(throttle_bit("mem_thermal"), trace::kThrottleThermalSoftware);
  EXPECT_EQ(throttle_bit("vr_thermalert"), trace::kThrottleThermalHardware);
  EXPECT_EQ(throttle_bit("prochot"), trace::kThrottleThermalHardware);
  EXPECT_EQ(throttle_bit("vr_tdc"), trace::kThrottleCurrent);
  EXPECT_EQ(throttle_bit("of_next_year"), trace::kThrottleOther);
  EXPECT_EQ(throttle_bits("none"), 0u);
  EXPECT_EQ(throttle_bits("pl1 thermal\nprochot"), trace::kThrottlePowerCap |
                                                       trace::kThrottleThermalSoftware |
                                                       trace::kThrottleThermalHardware);
}

}  // namespace
}  // namespace genscope::probe::drm

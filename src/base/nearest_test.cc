#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace genscope::base {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"process", "system", "nvml", "amdgpu"};

TEST(Nearest, FindsTyposAndBeginnings) {
  EXPECT_EQ(nearest("porcess", kWords), "process");
  EXPECT_EQ(nearest("sys", kWords), "system");
  EXPECT_EQ(nearest("nvmll", kWords), "nvml");
}

TEST(Nearest, FindsNothingFarAway) {
  EXPECT_EQ(nearest("zebra", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest(std::string(100'000, 'p'), kWords), "");
  EXPECT_EQ(nearest("nvml", {}), "");
}

}  // namespace
}  // namespace genscope::base

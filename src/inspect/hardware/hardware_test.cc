#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <genscope/predict.h>

namespace genscope {
namespace {

using ::testing::HasSubstr;

std::string found(std::string_view name) {
  const Result<Hardware> hardware = find_hardware(name);
  return hardware ? hardware->name : hardware.error().message;
}

TEST(Hardware, NamesOfDrivers) {
  EXPECT_EQ(found("NVIDIA GeForce RTX 4090"), "RTX 4090");
  EXPECT_EQ(found("NVIDIA GeForce RTX 4080 SUPER"), "RTX 4080 SUPER");
  EXPECT_EQ(found("NVIDIA GeForce RTX 3080 Ti"), "RTX 3080 Ti");
  EXPECT_EQ(found("NVIDIA A100-SXM4-80GB"), "A100 80GB SXM");
  EXPECT_EQ(found("NVIDIA A100-SXM4-40GB"), "A100 40GB SXM");
  EXPECT_EQ(found("NVIDIA A100 80GB PCIe"), "A100 80GB PCIe");
  EXPECT_EQ(found("NVIDIA H100 80GB HBM3"), "H100 SXM");
  EXPECT_EQ(found("NVIDIA H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(found("NVIDIA H100 NVL"), "H100 NVL");
  EXPECT_EQ(found("NVIDIA H200"), "H200 SXM");
  EXPECT_EQ(found("NVIDIA B200"), "B200");
  EXPECT_EQ(found("NVIDIA L40S"), "L40S");
  EXPECT_EQ(found("Tesla T4"), "T4");
  EXPECT_EQ(found("Tesla V100-SXM2-16GB"), "V100 16GB SXM");
  EXPECT_EQ(found("Tesla V100-PCIE-32GB"), "V100 32GB PCIe");
  EXPECT_EQ(found("NVIDIA RTX A6000"), "RTX A6000");
  EXPECT_EQ(found("NVIDIA RTX 6000 Ada Generation"), "RTX 6000 Ada");
  EXPECT_EQ(found("NVIDIA RTX PRO 6000 Blackwell Workstation Edition"), "RTX PRO 6000 Blackwell");
  EXPECT_EQ(found("AMD Instinct MI300X"), "MI300X");
  EXPECT_EQ(found("AMD Radeon RX 7900 XTX"), "RX 7900 XTX");
}

TEST(Hardware, NamesAsPeopleTypeThem) {
  EXPECT_EQ(found("4090"), "RTX 4090");
  EXPECT_EQ(found("rtx4090"), "RTX 4090");
  EXPECT_EQ(found("4070ti"), "RTX 4070 Ti");
  EXPECT_EQ(found("rtx-5090"), "RTX 5090");
  EXPECT_EQ(found("a100"), "A100 80GB SXM");
  EXPECT_EQ(found("h100"), "H100 SXM");
  EXPECT_EQ(found("mi300x"), "MI300X");
}

TEST(Hardware, WhatIsOnlySimilarIsNotTaken) {
  EXPECT_THAT(found("NVIDIA GeForce RTX 4090 Laptop GPU"), HasSubstr("did you mean"));
  EXPECT_THAT(found("NVIDIA GeForce RTX 4090 D"), HasSubstr("did you mean 'RTX 4090'?"));
  EXPECT_THAT(found("4091"), HasSubstr("did you mean 'RTX 4090'?"));
  EXPECT_THAT(found("rtx 4900"), HasSubstr("did you mean"));
  EXPECT_THAT(found(""), HasSubstr("no device"));
  EXPECT_THAT(found("NVIDIA"), HasSubstr("no device"));
}

TEST(Hardware, EveryRowIsWholeAndFindsItself) {
  std::set<std::string> names;
  for (const Hardware& row : hardware_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(found(row.name), row.name);
    EXPECT_GT(row.bf16_tflops, 0) << row.name;
    EXPECT_GT(row.bandwidth_gbs, 0) << row.name;
    EXPECT_GT(row.memory_gib, 0) << row.name;
    EXPECT_GT(row.link_gbs, 0) << row.name;
    EXPECT_TRUE(row.watts.has_value()) << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
    EXPECT_FALSE(row.measured) << row.name;
    if (row.fp8_tflops) {
      EXPECT_NEAR(*row.fp8_tflops / row.bf16_tflops, 2, 0.03) << row.name;
    }
  }
}

// Where the derived figures of GeForce cards are printed too.
TEST(Hardware, GeForceRatesAreDenseAndAccumulateInFp32) {
  EXPECT_NEAR(find_hardware("RTX 3090")->bf16_tflops, 71, 0.5);
  EXPECT_NEAR(find_hardware("RTX 4080")->bf16_tflops, 97.5, 0.1);
  EXPECT_NEAR(find_hardware("RTX 4090")->bf16_tflops, 165.2, 0.1);
  EXPECT_NEAR(find_hardware("RTX 5090")->bf16_tflops, 209.5, 0.1);
  EXPECT_FALSE(find_hardware("RTX 3090")->fp8_tflops.has_value());
}

}  // namespace
}  // namespace genscope

#include "inspect/read/dtype.h"

#include <gtest/gtest.h>

namespace genscope::inspect {
namespace {

TEST(Dtype, HasTheBitsThatGgmlHas) {
  EXPECT_EQ(bits_per_element(Dtype::f32), 32);
  EXPECT_EQ(bits_per_element(Dtype::bf16), 16);
  EXPECT_EQ(bits_per_element(Dtype::q8_0), 8.5);
  EXPECT_EQ(bits_per_element(Dtype::q6_k), 6.5625);
  EXPECT_EQ(bits_per_element(Dtype::q5_1), 6);
  EXPECT_EQ(bits_per_element(Dtype::q5_0), 5.5);
  EXPECT_EQ(bits_per_element(Dtype::q5_k), 5.5);
  EXPECT_EQ(bits_per_element(Dtype::q4_1), 5);
  EXPECT_EQ(bits_per_element(Dtype::q4_0), 4.5);
  EXPECT_EQ(bits_per_element(Dtype::q4_k), 4.5);
  EXPECT_EQ(bits_per_element(Dtype::iq4_nl), 4.5);
  EXPECT_EQ(bits_per_element(Dtype::iq4_xs), 4.25);
  EXPECT_EQ(bits_per_element(Dtype::mxfp4), 4.25);
  EXPECT_EQ(bits_per_element(Dtype::q3_k), 3.4375);
  EXPECT_EQ(bits_per_element(Dtype::q2_k), 2.625);
  EXPECT_EQ(bits_per_element(Dtype::f6_e2m3), 6);
  EXPECT_EQ(bits_per_element(Dtype::f4), 4);
  EXPECT_EQ(bits_per_element(Dtype::unknown), 0);
}

TEST(Dtype, IsFoundByItsNameAndByTheWordsOfUsers) {
  for (int i = 1; i <= static_cast<int>(Dtype::nvfp4); ++i) {
    const auto dtype = static_cast<Dtype>(i);
    EXPECT_EQ(find_dtype(name(dtype)), dtype) << name(dtype);
  }
  EXPECT_EQ(find_dtype("BF16"), Dtype::bf16);
  EXPECT_EQ(find_dtype("bfloat16"), Dtype::bf16);
  EXPECT_EQ(find_dtype("fp8"), Dtype::f8_e4m3);
  EXPECT_EQ(find_dtype("Q4_K"), Dtype::q4_k);
  EXPECT_EQ(find_dtype("q4-k"), Dtype::q4_k);
  EXPECT_EQ(find_dtype("unknown"), std::nullopt);
  EXPECT_EQ(find_dtype(""), std::nullopt);
}

TEST(Dtype, CountsBytesAndSeesOverflow) {
  EXPECT_EQ(stored_bytes(Dtype::f4, 3), 2u);
  EXPECT_EQ(stored_bytes(Dtype::f6_e3m2, 5), 6u);
  EXPECT_EQ(stored_bytes(Dtype::q4_k, 512), 288u);
  EXPECT_EQ(stored_bytes(Dtype::f32, 0), 0u);
  EXPECT_EQ(stored_bytes(Dtype::f32, std::uint64_t{1} << 62), std::nullopt);
  EXPECT_EQ(stored_bytes(Dtype::unknown, 1), std::nullopt);
}

}  // namespace
}  // namespace genscope::inspect

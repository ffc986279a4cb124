#include "inspect/read/tensor_list.h"

#include <gtest/gtest.h>

#include <functional>

namespace genscope::inspect {
namespace {

std::vector<Tensor> tensors_of(const std::vector<std::string>& names) {
  std::vector<Tensor> tensors(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) tensors[i].name = names[i];
  return tensors;
}

TEST(FindDuplicate, FindsTheSecondOfAName) {
  EXPECT_EQ(find_duplicate({}), std::nullopt);
  EXPECT_EQ(find_duplicate(tensors_of({"a", "b", "c"})), std::nullopt);
  EXPECT_EQ(find_duplicate(tensors_of({"a", "b", "a"})), 2u);
  EXPECT_EQ(find_duplicate(tensors_of({"", ""})), 1u);
}

TEST(FindDuplicate, SortsNamesThatShareASlot) {
  // Names that fall into the same few slots of the table.
  std::vector<std::string> names;
  for (int i = 0; names.size() < 600; ++i) {
    std::string name = "n" + std::to_string(i);
    if ((std::hash<std::string_view>{}(name)&1023) < 8) names.push_back(std::move(name));
  }
  EXPECT_EQ(find_duplicate(tensors_of(names)), std::nullopt);
  names.push_back(names[17]);
  EXPECT_EQ(find_duplicate(tensors_of(names)), 600u);
}

TEST(ShapeBuilder, FoldsWhatIsBeyondTheEighth) {
  ShapeBuilder shape;
  for (std::uint64_t i = 1; i <= 10; ++i) ASSERT_TRUE(shape.add(i));
  EXPECT_TRUE(shape.folded());
  EXPECT_EQ(shape.shape().rank, 8);
  EXPECT_EQ(shape.shape()[7], 8u * 9 * 10);
  EXPECT_EQ(shape.shape().elements(), 3628800u);
}

TEST(ShapeBuilder, SeesOverflow) {
  ShapeBuilder shape;
  EXPECT_TRUE(shape.add(std::uint64_t{1} << 63));
  EXPECT_FALSE(shape.add(2));
}

}  // namespace
}  // namespace genscope::inspect

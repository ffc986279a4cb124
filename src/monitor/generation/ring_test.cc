#include "monitor/generation/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace genscope {
namespace {

using ::testing::ElementsAre;

TEST(Ring, KeepsTheLast) {
  monitor::Ring<int> ring(3);
  for (int i = 0; i < 5; ++i) ring.push(i);
  EXPECT_THAT(ring.items(), ElementsAre(2, 3, 4));
  ring.clear();
  ring.push(9);
  EXPECT_THAT(ring.items(), ElementsAre(9));
  monitor::Ring<int> none(0);
  none.push(1);
  EXPECT_TRUE(none.items().empty());
}

}  // namespace
}  // namespace genscope

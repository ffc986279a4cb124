#include "base/thread_owned.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace genscope::base {
namespace {

std::atomic<int> g_alive{0};

struct Counted {
  Counted() { ++g_alive; }
  ~Counted() { --g_alive; }
};

TEST(ThreadOwned, OneAThreadAndFreedWithIt) {
  Counted* const mine = ThreadOwned<Counted>::get();
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(ThreadOwned<Counted>::get(), mine);
  Counted* other = nullptr;
  std::thread([&] {
    other = ThreadOwned<Counted>::get();
    EXPECT_EQ(ThreadOwned<Counted>::get(), other);
    EXPECT_EQ(g_alive, 2);
  }).join();
  EXPECT_NE(other, mine);
  EXPECT_EQ(g_alive, 1);
}

}  // namespace
}  // namespace genscope::base

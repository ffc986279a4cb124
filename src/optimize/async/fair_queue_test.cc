#include "optimize/async/fair_queue.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace genscope::optimize::internal {
namespace {

struct Asked : Queued {
  Asked(std::string called, int class_of, const std::string& whose, double costs,
        std::int64_t since)
      : name(std::move(called)) {
    priority = class_of;
    tenant = &whose;
    cost = costs;
    since_ns = since;
  }
  std::string name;
};

class Orders : public ::testing::Test {
 protected:
  void ask(const std::string& name, int priority, const std::string& tenant = "", double cost = 1,
           std::int64_t since = 0) {
    asked_.push_back(
        std::make_unique<Asked>(name, priority, *tenants_.emplace(tenant).first, cost, since));
    queue_.push(*asked_.back());
  }
  std::string next(std::int64_t now = 0) {
    auto* const item = static_cast<Asked*>(queue_.peek(now));
    if (item == nullptr) return "";
    queue_.pop(*item);
    return item->name;
  }
  std::string all(std::int64_t now = 0) {
    std::string names;
    for (std::string name = next(now); !name.empty(); name = next(now)) names += name;
    return names;
  }
  FairQueue queue_{100};
  std::set<std::string> tenants_;
  std::vector<std::unique_ptr<Asked>> asked_;
};

using FairQueueTest = Orders;

TEST_F(FairQueueTest, FirstComeFirstServedWithinAClass) {
  for (const char* const name : {"a", "b", "c"}) ask(name, 0);
  EXPECT_EQ(all(), "abc");
}

TEST_F(FairQueueTest, TheUrgentGoFirst) {
  ask("a", 0);
  ask("b", 2);
  ask("c", -1);
  ask("d", 2);
  EXPECT_EQ(all(), "bdac");
}

TEST_F(FairQueueTest, WaitingRaisesAClass) {
  ask("old", 0, "", 1, 0);
  ask("new", 2, "", 1, 190);
  EXPECT_EQ(all(190), "newold");  // one class up is not enough
  ask("old", 0, "", 1, 0);
  ask("new", 2, "", 1, 250);
  EXPECT_EQ(all(250), "oldnew");  // it reached class 2 at 200
  ask("old", 0, "", 1, 0);
  ask("new", 2, "", 1, 150);
  EXPECT_EQ(all(250), "newold");  // who was there before goes first
}

TEST_F(FairQueueTest, NoClassStarvesUnderAFloodOfAHigherOne) {
  ask("low", -4, "", 1, 0);
  std::int64_t now = 0;
  for (int i = 0; i < 100; ++i, now += 50) {
    ask("x", 3, "", 1, now);
    ask("x", 3, "", 1, now);
    if (next(now) == "low") break;
  }
  EXPECT_LE(now, 100 * 8 + 800);
}

TEST_F(FairQueueTest, TenantsTakeTurnsByCost) {
  for (int i = 0; i < 12; ++i) ask("A", 0, "many");
  for (int i = 0; i < 3; ++i) ask("B", 0, "large", 4);
  std::map<std::string, double> spent;
  for (int i = 0; i < 10; ++i) {
    const std::string name = next();
    spent[name] += name == "A" ? 1 : 4;
  }
  EXPECT_NEAR(spent["A"], spent["B"], 4);
}

TEST_F(FairQueueTest, WeightsShareInProportion) {
  queue_.set_weight("gold", 3);
  for (int i = 0; i < 40; ++i) {
    ask("g", 0, "gold");
    ask("p", 0, "plain");
  }
  int gold = 0;
  for (int i = 0; i < 40; ++i) gold += next() == "g" ? 1 : 0;
  EXPECT_EQ(gold, 30);
}

TEST_F(FairQueueTest, AHugeCostIsServedAtOnceWhenAlone) {
  ask("h", 0, "t", 1e12);
  EXPECT_EQ(next(), "h");
}

TEST_F(FairQueueTest, WhoLeavesIsNotServed) {
  ask("a", 0, "t");
  ask("b", 0, "u");
  ask("c", 0, "t");
  queue_.remove(*asked_[1]);
  EXPECT_EQ(all(), "ac");
  EXPECT_EQ(queue_.size(), 0u);
}

}  // namespace
}  // namespace genscope::optimize::internal

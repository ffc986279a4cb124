#include "trace/open_spans.h"

#include <gtest/gtest.h>

namespace genscope::trace {
namespace {

std::vector<std::uint64_t> ids(const OpenSpans& open) {
  std::vector<std::uint64_t> out;
  for (const OpenSpan& s : open.spans()) out.push_back(s.id);
  return out;
}

TEST(OpenSpans, PopsTheTop) {
  OpenSpans open;
  EXPECT_FALSE(open.top_is(1));
  open.push(1, 10, 100);
  open.push(2, 20, 200);
  EXPECT_TRUE(open.top_is(2));
  open.pop(2);
  EXPECT_EQ(ids(open), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(open.spans().back().begin_tick, 10u);
  EXPECT_EQ(open.spans().back().site, 100u);
}

TEST(OpenSpans, PopsOutOfOrder) {
  OpenSpans open;
  for (std::uint64_t id : {1, 2, 3}) open.push(id, 0, 0);
  open.pop(1);
  EXPECT_EQ(ids(open), (std::vector<std::uint64_t>{2, 3}));
}

TEST(OpenSpans, IgnoresATagItDoesNotKnow) {
  OpenSpans open;
  open.pop(5);
  open.push(1, 0, 0);
  open.pop(5);
  EXPECT_EQ(ids(open), (std::vector<std::uint64_t>{1}));
}

TEST(OpenSpans, TakesTheInnermostOfEqualTags) {
  OpenSpans open;
  const std::uint64_t far = std::uint64_t{1} << 20 | 7;  // same low 20 bits
  open.push(7, 1, 0);
  open.push(far, 2, 0);
  open.push(8, 3, 0);
  open.pop(7);
  EXPECT_EQ(ids(open), (std::vector<std::uint64_t>{7, 8}));
}

TEST(OpenSpans, ForgetsTheOldestHalfWhenFull) {
  OpenSpans open;
  for (std::uint64_t id = 0; id < OpenSpans::kMaxDepth + 1; ++id) open.push(id, 0, 0);
  EXPECT_EQ(open.spans().size(), OpenSpans::kMaxDepth / 2 + 1);
  EXPECT_EQ(open.spans().front().id, OpenSpans::kMaxDepth / 2);
  EXPECT_EQ(open.spans().back().id, OpenSpans::kMaxDepth);
}

}  // namespace
}  // namespace genscope::trace

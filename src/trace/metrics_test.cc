#include "trace/metrics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string>

#include "test_paths.h"

namespace genscope::trace {
namespace {

TEST(Metrics, IdsAreUniqueAndRowsComplete) {
  std::set<std::string_view> ids;
  for (const Metric& row : all_metrics()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_FALSE(row.unit.empty()) << row.id;
    EXPECT_FALSE(row.description.empty()) << row.id;
    EXPECT_LT(row.low, row.high) << row.id;
  }
}

TEST(Metrics, AreInTheDocumentAsTheyAreHere) {
  std::ifstream file(GENSCOPE_SOURCE_DIR "/docs/metrics.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  constexpr std::string_view kKinds[] = {"gauge", "counter", "bits"};
  for (const Metric& row : all_metrics()) {
    const std::string line = "| `" + std::string(row.id) + "` | " + std::string(row.unit) + " | " +
                             std::string(kKinds[static_cast<std::size_t>(row.kind)]) + " | " +
                             std::string(row.description) + " |\n";
    EXPECT_NE(page.find(line), std::string::npos) << "docs/metrics.md lacks: " << line;
  }
}

TEST(Metrics, AreFoundByIdAtCompileTimeAndAtRunTime) {
  EXPECT_EQ(find_metric("power_watts"), &metric("power_watts"));
  EXPECT_EQ(find_metric("power"), nullptr);
}

TEST(Metrics, EveryStatusAndKindHasAWord) {
  std::set<std::string_view> words;
  for (std::size_t i = 0; i < kSampleStatuses; ++i)
    words.insert(name(static_cast<SampleStatus>(i)));
  EXPECT_EQ(words.size(), kSampleStatuses);
  words.clear();
  for (std::size_t i = 0; i < kEntityKinds; ++i) words.insert(name(static_cast<EntityKind>(i)));
  EXPECT_EQ(words.size(), kEntityKinds);
}

TEST(Metrics, ThrottleWordsNameFaultsOnly) {
  EXPECT_EQ(throttle_words(0), "");
  EXPECT_EQ(throttle_words(0x1 | 0x2 | 0x10 | 0x100), "") << "idle and chosen clocks";
  EXPECT_EQ(throttle_words(0x4 | 0x40), "thermal, power cap");
  EXPECT_EQ(throttle_words(std::numeric_limits<double>::infinity()), "");
  EXPECT_EQ(throttle_words(-4), "");
  std::uint64_t named = 0;
  for (const ThrottleReason& reason : kThrottleReasons) {
    EXPECT_EQ(named & reason.bits, 0u) << reason.name << " shares a bit";
    named |= reason.bits;
  }
  EXPECT_EQ(named, kThrottleFaults);
}

}  // namespace
}  // namespace genscope::trace

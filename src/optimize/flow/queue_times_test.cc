#include <gtest/gtest.h>

#include <string>

#include <genscope/optimize/admission.h>
#include <genscope/optimize/batch.h>

#include "optimize/flow/queue_book.h"
#include "testing/exposition.h"

namespace genscope::optimize {
namespace {

TEST(QueueHistogram, CountsAtMostItsBound) {
  QueueHistogram waits;
  EXPECT_FALSE(waits.quantile(0.5));
  waits.add(-1);
  waits.add(0.001);    // the first bound belongs to the first bucket
  waits.add(0.00101);  // the second
  waits.add(61);       // beyond all
  EXPECT_EQ(waits.counts[0], 2u);
  EXPECT_EQ(waits.counts[1], 1u);
  EXPECT_EQ(waits.counts.back(), 1u);
  EXPECT_EQ(waits.count, 4u);
  EXPECT_NEAR(waits.sum_seconds, 61.00201, 1e-9);
}

TEST(QueueHistogram, QuantilesAreThoseOfPrometheus) {
  QueueHistogram waits;
  for (int i = 0; i < 10; ++i) waits.add(0.2);  // (0.1, 0.25]
  for (int i = 0; i < 10; ++i) waits.add(0.4);  // (0.25, 0.5]
  EXPECT_NEAR(*waits.quantile(0.25), 0.175, 1e-12);
  EXPECT_NEAR(*waits.quantile(0.5), 0.25, 1e-12);
  EXPECT_NEAR(*waits.quantile(0.75), 0.375, 1e-12);
  waits.add(1000);
  EXPECT_DOUBLE_EQ(*waits.quantile(1), 60);
}

TEST(QueueBook, IsBoundedAndTheRestSharesARow) {
  QueueBook book({"class", "tenant"});
  for (int i = 0; i < 1000; ++i) book.row("a", "tenant" + std::to_string(i)).add(0.01);
  book.row("b", "late").add(0.01);
  const std::vector<QueueTimes> rows = book.rows();
  ASSERT_EQ(rows.size(), QueueBook::kMostRows + 2);
  EXPECT_EQ(rows[64].labels, (QueueTimes::Labels{{"class", "a"}, {"tenant", "other"}}));
  EXPECT_EQ(rows[64].waited.count, 1000 - QueueBook::kMostRows);
  EXPECT_EQ(rows[65].labels, (QueueTimes::Labels{{"class", "b"}, {"tenant", "other"}}));
}

TEST(QueueTimes, TextIsAHistogramOfPrometheus) {
  QueueTimes row{{{"key", "a \"b\"\n\\"}}, {}};
  row.waited.add(0.003);
  row.waited.add(2);
  const std::string text =
      prometheus_histogram("waits", "Help.", "n", {row, {{{"key", "\xff"}}, {}}});
  EXPECT_EQ(testing::Exposition::problem_of(text), "");
  EXPECT_EQ(text.rfind("# HELP waits Help.\n# TYPE waits histogram\n", 0), 0u) << text;
  const std::string labels = R"({name="n",key="a \"b\"\n\\")";
  for (const char* tail : {",le=\"0.0025\"} 0\n", ",le=\"0.005\"} 1\n", ",le=\"1\"} 1\n",
                           ",le=\"2.5\"} 2\n", ",le=\"+Inf\"} 2\n"}) {
    EXPECT_NE(text.find("waits_bucket" + labels + tail), std::string::npos) << tail << text;
  }
  EXPECT_NE(text.find("waits_sum" + labels + "} 2.003\n"), std::string::npos) << text;
  EXPECT_NE(text.find("waits_count" + labels + "} 2\n"), std::string::npos) << text;
  EXPECT_EQ(prometheus_histogram("waits", "Help.", "n", {}), "");
}

TEST(AdmissionQueue, CountsWaitsByClassAndTenant) {
  AdmissionQueue queue({.classes = {{"fast", 4}, {"slow", 4}}, .concurrency = 1});
  const auto first = queue.enter({.in_class = 1, .tenant = "x"}, 0);
  const auto second = queue.enter({.in_class = 0, .tenant = std::string("y")}, 0);
  const auto third = queue.enter({.in_class = 1}, 0);
  queue.finished(first.id, true, 300'000'000);
  queue.cancel(third.id);  // never began: in no histogram
  queue.finished(second.id, true, 400'000'000);
  const std::vector<QueueTimes> rows = queue.stats(0).queue;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].labels, (QueueTimes::Labels{{"class", "slow"}, {"tenant", "x"}}));
  EXPECT_DOUBLE_EQ(rows[0].waited.sum_seconds, 0);
  EXPECT_EQ(rows[1].labels, (QueueTimes::Labels{{"class", "fast"}, {"tenant", "y"}}));
  EXPECT_DOUBLE_EQ(rows[1].waited.sum_seconds, 0.3);
  EXPECT_EQ(rows[2].labels, (QueueTimes::Labels{{"class", "slow"}}));
  EXPECT_EQ(rows[2].waited.count, 0u);
}

TEST(BatchQueue, CountsWaitsByKeyOnceForEachRequest) {
  BatchQueue queue({.name = "b", .most = 2, .max_delay_seconds = 0});
  const auto run = [&](std::int64_t now, const Failed* failure) {
    const auto taken = queue.take(now);
    queue.finish(taken.batch, failure, 0.1, now);
    return taken.batch.size();
  };
  queue.push("512", 1, kNoDeadline, 0);
  EXPECT_EQ(run(20'000'000, nullptr), 1u);
  queue.push("512", 1, kNoDeadline, 0);
  queue.push("512", 1, kNoDeadline, 0);
  queue.push("1024", 1, 10, 0);  // expires
  const Failed bad{Failure::transient, "", std::nullopt};
  EXPECT_EQ(run(40'000'000, &bad), 2u);  // halved: each runs again and is not counted again
  EXPECT_EQ(run(50'000'000, nullptr), 1u);
  EXPECT_EQ(run(50'000'000, nullptr), 1u);
  const BatchStats stats = queue.stats();
  EXPECT_EQ(stats.requests, 3u);
  EXPECT_EQ(stats.batches, 4u);
  EXPECT_EQ(stats.expired, 1u);
  EXPECT_EQ(stats.splits, 1u);
  ASSERT_EQ(stats.queue.size(), 2u);
  EXPECT_EQ(stats.queue[0].labels, (QueueTimes::Labels{{"key", "512"}}));
  EXPECT_EQ(stats.queue[0].waited.count, 3u);
  EXPECT_NEAR(stats.queue[0].waited.sum_seconds, 0.1, 1e-12);
  EXPECT_EQ(stats.queue[1].waited.count, 0u);
  const std::string text = prometheus_text(stats, "b");
  EXPECT_NE(text.find("genscope_batcher_queue_seconds_count{name=\"b\",key=\"512\"} 3\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace genscope::optimize

#include "store/history/index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "store/history/schema.h"
#include "testing/temp_dir.h"

namespace genscope::store::history {
namespace {

Entry entry(const std::string& id, std::int64_t started_us, double median) {
  Entry one;
  one.file = {"bench/" + id + ".json", id, "result", "00ff", 12, started_us};
  RunRow run;
  run.id = id;
  run.suite = "nightly";
  run.environment_class = "cpu";
  run.started_us = started_us;
  one.run = run;
  one.cells = {{"size=512", "{}", "ok", ""}};
  MetricRow metric;
  metric.cell = "size=512";
  metric.slot = "A";
  metric.name = "latency_s";
  metric.unit = "s";
  metric.direction = "lower_is_better";
  metric.n_units = 8;
  metric.median = median;
  metric.lo = median * 0.99;
  metric.source = "measured";
  one.metrics = {metric};
  return one;
}

Index opened(const std::string& path) {
  Result<Index> index = Index::open(path);
  EXPECT_TRUE(index.ok()) << (index.ok() ? "" : index.error().message);
  return std::move(*index);
}

SeriesQuery latency() { return {.metric = "latency_s", .suite = {}, .cell = {}, .subject = {}}; }

TEST(HistorySchema, OneDescriptionTwoDialects) {
  const std::string lite = ddl(Dialect::sqlite), postgres = ddl(Dialect::postgresql);
  EXPECT_NE(lite.find("median REAL NOT NULL"), std::string::npos);
  EXPECT_NE(lite.find("STRICT"), std::string::npos);
  EXPECT_NE(postgres.find("median DOUBLE PRECISION NOT NULL"), std::string::npos);
  EXPECT_NE(postgres.find("started TIMESTAMPTZ NOT NULL"), std::string::npos);
  EXPECT_EQ(postgres.find("STRICT"), std::string::npos);
  EXPECT_EQ(upsert(table("baseline")),
            "INSERT INTO baseline (name, run, made, note) VALUES ($1, $2, $3, $4) ON CONFLICT "
            "(name) DO UPDATE SET run = excluded.run, made = excluded.made, note = excluded.note");
}

TEST(HistoryIndex, GivesBackWhatWasPut) {
  const testing::TempDir folder;
  Index index = opened(folder / "history.db");
  EXPECT_EQ(index.journal(), "wal");
  const std::vector<Entry> both{entry("b", 2, 1.5), entry("a", 1, 1.25)};
  ASSERT_TRUE(index.put(both).ok());
  const auto points = index.series(latency());
  ASSERT_TRUE(points.ok());
  ASSERT_EQ(points->size(), 2u);
  EXPECT_EQ(points->at(0).run, "a");
  EXPECT_DOUBLE_EQ(points->at(0).median, 1.25);
  EXPECT_FALSE(points->at(0).hi.has_value());
  EXPECT_EQ(*index.nth_last(0).value(), "b");
  EXPECT_EQ(*index.nth_last(1).value(), "a");
  EXPECT_FALSE(index.nth_last(2).value().has_value());
  EXPECT_EQ(index.ids("a", 5).value(), std::vector<std::string>{"a"});
  EXPECT_EQ(index.metric_names().value(), std::vector<std::string>{"latency_s"});
  EXPECT_EQ(index.runs(1, std::nullopt).value().at(0).id, "b");
  EXPECT_TRUE(index.runs(10, "other").value().empty());
}

TEST(HistoryIndex, ReplacesAResultAndForgetsAFile) {
  Index index = std::move(*Index::in_memory());
  Entry first = entry("a", 1, 1.25);
  first.cells.push_back({"size=1024", "{}", "ok", ""});
  ASSERT_TRUE(index.put(std::vector{first}).ok());
  ASSERT_TRUE(index.put(std::vector{entry("a", 1, 3)}).ok());
  ASSERT_EQ(index.series(latency())->size(), 1u);
  EXPECT_DOUBLE_EQ(index.series(latency())->at(0).median, 3);
  ASSERT_TRUE(index.put({}, std::vector<std::string>{"bench/a.json"}).ok());
  EXPECT_TRUE(index.series(latency())->empty());
  EXPECT_TRUE(index.files()->empty());
}

TEST(HistoryIndex, NoiseOfTheCellBeforeThatOfTheMachine) {
  Index index = std::move(*Index::in_memory());
  Entry one = entry("a", 1, 1);
  one.noise = {{"builtin", "cpu", 0.02, 0.01, 12, true, 5}, {"k", "cpu", 0.03, {}, 12, false, 1}};
  ASSERT_TRUE(index.put(std::vector{one}).ok());
  EXPECT_DOUBLE_EQ(index.noise("cpu", "k").value()->floor, 0.03);
  EXPECT_DOUBLE_EQ(index.noise("cpu", "other").value()->floor, 0.02);
  EXPECT_FALSE(index.noise("gpu", "k").value().has_value());
}

TEST(HistoryIndex, DecisionsAreReplacedAsAWhole) {
  Index index = std::move(*Index::in_memory());
  const std::vector<BaselineRow> baselines{{"main", "a", 1, "first"}};
  const std::vector<AcceptedRow> accepted{{"a", "size=512", "latency_s", 1, ""}};
  ASSERT_TRUE(index.put_decisions(baselines, accepted).ok());
  EXPECT_EQ(index.baselines().value(), baselines);
  EXPECT_EQ(index.accepted().value(), accepted);
  ASSERT_TRUE(index.put_decisions({}, accepted).ok());
  EXPECT_TRUE(index.baselines().value().empty());
}

TEST(HistoryIndex, SaysThatAFileIsNotAnIndex) {
  const testing::TempDir folder;
  std::ofstream(folder / "history.db") << std::string(5000, 'x');
  const Result<Index> index = Index::open(folder / "history.db");
  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code, ErrorCode::bad_data);
  EXPECT_NE(index.error().message.find("--rebuild"), std::string::npos);
}

TEST(HistoryIndex, DamageInTheMiddleIsAnErrorNotAnAnswer) {
  const testing::TempDir folder;
  const std::string path = folder / "history.db";
  {
    Index index = opened(path);
    std::vector<Entry> many;
    for (int i = 0; i < 500; ++i) many.push_back(entry(fmt::format("r{}", i), i, 1));
    ASSERT_TRUE(index.put(many).ok());
  }
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    for (int i = 0; i < 40'000; ++i) file.put('\x5a');
  }
  const Result<Index> index = Index::open(path);
  const bool noticed = !index.ok() || !index->series(latency()).ok() || !index->files().ok();
  EXPECT_TRUE(noticed);
}

// A child that does `work` and exits with 0 if it went well.
template <class Work>
pid_t in_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  return child;
}

int exit_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(HistoryIndex, TwoProcessesWriteAtOnce) {
  const testing::TempDir folder;
  const std::string path = folder / "history.db";
  const auto writer = [&](int which) {
    return in_child([&] {
      for (int i = 0; i < 40; ++i) {
        Result<Index> index = Index::open(path);
        if (!index) return false;
        if (!index->put(std::vector{entry(fmt::format("{}-{}", which, i), i, 1)})) return false;
      }
      return true;
    });
  };
  const pid_t one = writer(1), two = writer(2);
  EXPECT_EQ(exit_of(one), 0);
  EXPECT_EQ(exit_of(two), 0);
  EXPECT_EQ(opened(path).files()->size(), 80u);
}

TEST(HistoryIndex, AKilledWriterLeavesWholeRuns) {
  const testing::TempDir folder;
  const std::string path = folder / "history.db";
  for (int round = 0; round < 5; ++round) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = in_child([&] {
      for (int i = 0;; ++i) {
        Result<Index> index = Index::open(path);
        if (!index) return false;
        if (!index->put(std::vector{entry(fmt::format("{}-{}", round, i), i, 1)})) return false;
        if (i > round && ::write(ready[1], "x", 1) != 1) return false;
      }
    });
    ::close(ready[1]);
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::kill(child, SIGKILL);
    EXPECT_EQ(exit_of(child), 128 + SIGKILL);
    ::close(ready[0]);
    Index index = opened(path);
    EXPECT_EQ(index.files()->size(), index.series(latency())->size());
    EXPECT_GE(index.files()->size(), static_cast<std::size_t>(round) + 1);
  }
}

TEST(HistoryIndex, TenThousandRunsAreListed) {
  Index index = std::move(*Index::in_memory());
  std::vector<Entry> many;
  for (int i = 0; i < 10'000; ++i) many.push_back(entry(fmt::format("r{:05}", i), i, 1 + i % 7));
  ASSERT_TRUE(index.put(many).ok());
  EXPECT_EQ(index.runs(20, std::nullopt)->front().id, "r09999");
  SeriesQuery query = latency();
  query.suite = "nightly";
  query.cell = "size=512";
  EXPECT_EQ(index.series(query)->size(), 10'000u);
  EXPECT_EQ(index.ids("r0999", 100)->size(), 10u);
}

}  // namespace
}  // namespace genscope::store::history

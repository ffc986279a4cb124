#include "bench/history/folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/history/rows.h"
#include "bench/result/timestamp.h"
#include "testing/temp_dir.h"

namespace genscope::bench {
namespace {

BenchResult history_result(const std::string& id, double seconds, std::int64_t at_s = 1'000'000) {
  BenchResult result;
  result.id = id;
  result.started = timestamp(at_s * 1'000'000'000);
  result.environment.klass = "cpu";
  result.labels["A"] = "python gen.py";
  Cell cell;
  cell.id = "all";
  for (std::uint32_t i = 0; i < 6; ++i) {
    Unit unit;
    unit.process = unit.order_index = i;
    Sample sample;
    sample.metrics["latency_s"] = seconds * (1 + 0.001 * i);
    unit.samples.push_back(sample);
    cell.units.push_back(unit);
  }
  summarize(cell);
  result.cells.push_back(cell);
  return result;
}

// Points GENSCOPE_OUT at a folder of its own.
class HistoryFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* const out = std::getenv("GENSCOPE_OUT")) before_ = out;
    ::setenv("GENSCOPE_OUT", runs().c_str(), 1);
  }
  void TearDown() override {
    if (before_) {
      ::setenv("GENSCOPE_OUT", before_->c_str(), 1);
    } else {
      ::unsetenv("GENSCOPE_OUT");
    }
  }
  std::string runs() const { return folder_ / "runs"; }

  // All that the index knows, as text.
  static std::string dump(const Folder& folder) {
    std::string text;
    const auto files = *folder.index.files();
    for (const auto& file : files) text += file.uri + file.kind + file.xxh3 + "\n";
    const auto all_runs = *folder.index.runs(100, {});
    for (const auto& run : all_runs) {
      text += run.id + run.subject + run.environment_class + std::to_string(run.started_us) + "\n";
    }
    store::history::SeriesQuery query;
    query.metric = "latency_s";
    const auto points = *folder.index.series(query);
    for (const auto& point : points) {
      text += point.run + point.cell + std::to_string(point.median) + "\n";
    }
    const auto baselines = *folder.index.baselines();
    for (const auto& one : baselines) text += one.name + one.run + "\n";
    return text;
  }

  testing::TempDir folder_;
  std::optional<std::string> before_;
};

TEST_F(HistoryFolder, RemembersAndFindsByEveryName) {
  ASSERT_TRUE(remember(history_result("a-1", 1, 100)).ok());
  ASSERT_TRUE(remember(history_result("b-2", 2, 200)).ok());
  ASSERT_TRUE(write_baseline(runs(), {"main", "a-1", 5, "why"}).ok());
  EXPECT_EQ(find_result("last")->id, "b-2");
  EXPECT_EQ(find_result("last~1")->id, "a-1");
  EXPECT_EQ(find_result("b-2")->id, "b-2");
  EXPECT_EQ(find_result("b")->id, "b-2");
  EXPECT_EQ(find_result("main")->id, "a-1");
  EXPECT_EQ(find_result(result_path("a-1"))->id, "a-1");
  EXPECT_NE(find_result("mian").error().message.find("did you mean 'main'"), std::string::npos);
  EXPECT_EQ(find_result("last~7").error().code, ErrorCode::not_found);
  ASSERT_TRUE(remember(history_result("b-3", 2, 300)).ok());
  EXPECT_NE(find_result("b").error().message.find("several"), std::string::npos);
}

TEST_F(HistoryFolder, RebuiltEqualsOriginal) {
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(remember(history_result("r" + std::to_string(i), 1 + i, i)).ok());
  ASSERT_TRUE(write_baseline(runs(), {"main", "r1", 5, ""}).ok());
  const std::string original = dump(*open_folder());
  const Result<Rebuilt> rebuilt = rebuild_index(runs());
  ASSERT_TRUE(rebuilt.ok());
  EXPECT_EQ(rebuilt->results, 5u);
  EXPECT_EQ(dump(*open_folder()), original);
}

TEST_F(HistoryFolder, ACorruptIndexLosesNothing) {
  ASSERT_TRUE(remember(history_result("a", 1)).ok());
  std::ofstream(index_path(runs())) << std::string(9000, 'z');
  const Result<Folder> folder = open_folder();
  ASSERT_TRUE(folder.ok());
  EXPECT_FALSE(folder->notes.empty());
  EXPECT_EQ(find_result("last")->id, "a");
  std::ofstream(index_path(runs())) << std::string(9000, 'z');
  EXPECT_TRUE(remember(history_result("b", 1, 2'000'000)).ok());
  EXPECT_EQ(find_result("last~1")->id, "a");
}

TEST_F(HistoryFolder, FilesThatCameAndWentAreNoticed) {
  ASSERT_TRUE(remember(history_result("a", 1)).ok());
  ASSERT_TRUE(write_result(history_result("b", 2, 2'000'000), result_path("b")).ok());
  EXPECT_EQ(find_result("last")->id, "b");
  std::filesystem::remove(result_path("b"));
  EXPECT_EQ(find_result("last")->id, "a");
}

TEST_F(HistoryFolder, AFileThatCannotBeReadIsNamedOnce) {
  ASSERT_TRUE(remember(history_result("a", 1)).ok());
  std::ofstream(result_path("broken")) << "{";
  EXPECT_NE(open_folder()->notes.at(0).find("broken.json"), std::string::npos);
  EXPECT_NE(open_folder()->notes.at(0).find("left out"), std::string::npos);
  EXPECT_EQ(rebuild_index(runs())->unreadable.size(), 1u);
}

TEST_F(HistoryFolder, AFolderThatCannotBeWrittenIsReadAllTheSame) {
  if (::geteuid() == 0)
    GTEST_SKIP() << "root may write everywhere; tests/bench does this as nobody";
  ASSERT_TRUE(remember(history_result("a", 1)).ok());
  std::filesystem::remove(index_path(runs()));
  ::chmod(runs().c_str(), 0555);
  const Result<Folder> folder = open_folder();
  ::chmod(runs().c_str(), 0755);
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(folder->index.runs(10, {})->size(), 1u);
}

TEST_F(HistoryFolder, ReadingMakesNoFolder) {
  EXPECT_EQ(find_result("last").error().code, ErrorCode::not_found);
  EXPECT_FALSE(noise_floor_of("cpu", "k").has_value());
  EXPECT_FALSE(std::filesystem::exists(runs()));
}

TEST_F(HistoryFolder, SelfchecksSetTheFloor) {
  BenchResult result = history_result("s", 1);
  result.suite = std::string(kSelfcheckSuite);
  result.workload["noise_key"] = std::string(kMachineKey);
  Cell& cell = result.cells[0];
  cell.units.clear();
  for (std::uint32_t i = 0; i < 24; ++i) {
    Unit unit;
    unit.process = i / 2;
    unit.order_index = i;
    unit.slot = i % 2 == 0 ? 'A' : 'B';
    Sample sample;
    sample.metrics["latency_s"] = i % 2 == 0 ? 1 : 1 + 0.001 * i;
    unit.samples.push_back(sample);
    cell.units.push_back(unit);
  }
  summarize(cell);
  ASSERT_TRUE(remember(result).ok());
  const std::optional<double> floor = noise_floor_of("cpu", "anything");
  ASSERT_TRUE(floor.has_value());
  EXPECT_NEAR(*floor, 0.022, 0.003);
  EXPECT_FALSE(noise_floor_of("another machine", "anything").has_value());
}

TEST_F(HistoryFolder, NamesOfBaselinesAreChecked) {
  EXPECT_TRUE(check_baseline_name("v1.2-rc_3").ok());
  for (const char* const bad : {"", "a/b", "last", "x.json", ".hidden", "-f", "a b"}) {
    EXPECT_FALSE(check_baseline_name(bad).ok()) << bad;
  }
  EXPECT_FALSE(*remove_baseline(runs(), "main"));
}

TEST(NoiseKey, IsTheSuitesCellOrTheCommand) {
  BenchResult result = history_result("a", 1);
  const std::string key = noise_key(result, result.cells[0]);
  EXPECT_TRUE(key.starts_with("command/"));
  result.labels["B"] = "other";
  EXPECT_EQ(noise_key(result, result.cells[0]), key);
  result.labels["A"] = "another";
  EXPECT_NE(noise_key(result, result.cells[0]), key);
  result.suite = "nightly";
  EXPECT_EQ(noise_key(result, result.cells[0]), "suite/nightly/all");
}

}  // namespace
}  // namespace genscope::bench

// The way from files to an Aggregate, and what the original (Inferix's aggregate_reports.py) got
// wrong on it.
#include <gtest/gtest.h>

#include <fstream>

#include <genscope/analyze.h>
#include <genscope/compat/inferix.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "testing/temp_dir.h"

namespace genscope {
namespace {

class Originals : public ::testing::Test {
 protected:
  void report(int rank, const std::string& id, double seconds, const std::string& more = "") {
    const std::filesystem::path folder = dir_ / ("rank_" + std::to_string(rank));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / ("profiling_report_" + id + ".json"))
        << R"({"session_info": {"id": ")" << id << R"(", "start_time": 1000, "end_time": )"
        << 1000 + seconds << R"(, "duration": )" << seconds << R"(, "tags": {"rank": )" << rank
        << R"(, "world_size": 2}}, "summary": {"gpu": {"peak_memory_usage_mb": 1000,)"
        << R"("avg_gpu_utilization": 80}, "cpu": {"avg_cpu_usage": 40}},)"
        << R"("stage_analysis": {"stages": {"denoise": {"total_time": )" << seconds / 2
        << R"(, "call_count": 1})" << more << "}}}";
  }
  Aggregate aggregate() {
    const Result<Recordings> all = find_recordings(dir_.path());
    Aggregator aggregator;
    for (const Recording& one : all->found) {
      const Result<InferixReport> read = read_inferix_report(one.path);
      EXPECT_TRUE(read.ok()) << read.error().message;
      aggregator.add(rank_figures(*read));
    }
    skipped_ = all->skipped;
    return aggregator.finish();
  }
  static const AcrossRanks* find(const std::vector<AcrossRanks>& rows, std::string_view name) {
    for (const AcrossRanks& row : rows) {
      if (row.name == name) return &row;
    }
    return nullptr;
  }

  testing::TempDir dir_;
  std::vector<std::string> skipped_;
};

// The original read {}, {}, "unknown", 0 from reports of this shape.
TEST_F(Originals, AggregateIsNotEmpty) {
  report(0, "s0", 10);
  report(1, "s1", 14);
  const Aggregate sum = aggregate();
  EXPECT_EQ(sum.ranks, 2u);
  EXPECT_EQ(sum.world_size, 2);
  ASSERT_EQ(sum.rows.size(), 2u);
  EXPECT_EQ(sum.rows[1].rank, 1);
  EXPECT_EQ(sum.rows[1].name, "s1");
  EXPECT_EQ(sum.rows[1].wall_ns, 14'000'000'000);
  ASSERT_NE(find(sum.figures, "wall_seconds"), nullptr);
  EXPECT_EQ(find(sum.figures, "wall_seconds")->max, 14);
  ASSERT_NE(find(sum.figures, "gpu_memory_peak_bytes"), nullptr);
  ASSERT_NE(find(sum.figures, "machine_cpu_busy_ratio"), nullptr);
  ASSERT_NE(find(sum.stages, "stage/denoise"), nullptr);
  EXPECT_EQ(find(sum.stages, "stage/denoise")->median, 6);
}

TEST_F(Originals, PercentagesAreNeverSummed) {
  for (int rank = 0; rank < 4; ++rank) report(rank, "s", 10);
  const Aggregate sum = aggregate();
  const AcrossRanks* busy = find(sum.figures, "gpu_busy_ratio");
  ASSERT_NE(busy, nullptr);
  EXPECT_EQ(busy->ranks, 4u);
  EXPECT_DOUBLE_EQ(busy->mean, 0.8);
  EXPECT_DOUBLE_EQ(busy->max, 0.8);
  std::string json;
  aggregate_json(sum, [&](std::string_view piece) { json += piece; });
  EXPECT_EQ(json.find("sum\""), std::string::npos);
}

TEST_F(Originals, KeysOfAllRanksCountNotOnlyOfTheFirst) {
  report(0, "s0", 10);
  report(1, "s1", 10, R"(, "vae_decode": {"total_time": 2, "call_count": 1})");
  const Aggregate sum = aggregate();
  const AcrossRanks* decode = find(sum.stages, "stage/vae_decode");
  ASSERT_NE(decode, nullptr);
  EXPECT_EQ(decode->ranks, 1u);
  EXPECT_EQ(decode->max_rank, "rank 1");
}

TEST_F(Originals, RawDataIsNoReport) {
  report(0, "s0", 10);
  std::ofstream(dir_ / "rank_0/raw_profiling_data_s0.json")
      << R"({"session_id": "s0", "gpu_data": [], "cpu_data": []})";
  const Aggregate sum = aggregate();
  EXPECT_EQ(sum.ranks, 1u);
  ASSERT_EQ(skipped_.size(), 1u);
  EXPECT_NE(skipped_[0].find("not a report"), std::string::npos);
}

}  // namespace
}  // namespace genscope

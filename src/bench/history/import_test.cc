#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include <genscope/bench.h>

#include "analyze/inference/inference.h"
#include "bench/history/import.h"
#include "test_paths.h"

namespace genscope::bench {
namespace {

std::string import_data(const std::string& name) {
  std::ifstream file(std::string(GENSCOPE_SOURCE_DIR "/tests/data/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<BenchResult> import_file(const std::string& name) {
  return import_result(import_data("bench_import/" + name), name);
}

std::string import_error(std::string_view text) {
  const Result<BenchResult> result = import_result(text, "x.json");
  return result ? "" : result.error().message;
}

TEST(Import, HyperfineOfTheVectors) {
  const auto vectors = nlohmann::json::parse(import_data("vectors/import_hyperfine.json"));
  for (const auto& one : vectors["cases"]) {
    const Result<BenchResult> result = import_result(one["in"]["file"].dump(), "vector");
    ASSERT_TRUE(result.ok());
    const auto& out = one["out"];
    ASSERT_EQ(result->cells.size(), out["commands"].size());
    std::vector<std::vector<double>> times;
    for (std::size_t i = 0; i < result->cells.size(); ++i) {
      const Cell& cell = result->cells[i];
      const MetricStats& stats = cell.stats.at('A').at("latency_s");
      EXPECT_EQ(cell.id, out["commands"][i].get<std::string>());
      EXPECT_EQ(stats.n_units, out["n"][i].get<std::uint64_t>());
      EXPECT_NEAR(stats.mean, out["mean"][i].get<double>(), 1e-9);
      EXPECT_NEAR(stats.sd.value(), out["stddev"][i].get<double>(), 1e-9);
      times.push_back(unit_values(cell, 'A', "latency_s"));
    }
    const auto speeds = stats::relative_speeds(times);
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      EXPECT_NEAR(speeds[i].ratio, out["ratio_to_fastest"][i].get<double>(), 1e-9);
    }
  }
}

TEST(Import, HyperfineWithParameters) {
  const Result<BenchResult> result = import_file("hyperfine.json");
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->cells.size(), 2u);
  EXPECT_EQ(result->cells[0].params, (Params{{"n", "0.01"}}));
  EXPECT_EQ(result->cells[0].units.size(), 6u);
  EXPECT_EQ(result->workload.at("imported_from"), "hyperfine");
  EXPECT_EQ(result->environment.klass, "");
}

TEST(Import, GoogleBenchmarkIsOneProcess) {
  const Result<BenchResult> result = import_file("google_benchmark.json");
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->cells.size(), 3u);
  EXPECT_EQ(result->cells[0].id, "sum/64");
  ASSERT_EQ(result->cells[0].units.size(), 1u);
  EXPECT_EQ(result->cells[0].units[0].samples.size(), 3u);
  EXPECT_NEAR(result->cells[0].units[0].samples[0].metrics.at("latency_s"), 48.3e-9, 1e-9);
  EXPECT_EQ(result->cells[2].status, "failed");
  EXPECT_EQ(result->cells[2].failure->detail, "no device");
  EXPECT_EQ(result->environment.klass, "imported: 2");
  EXPECT_EQ(result->started, "2026-11-18T01:40:11.000000000Z");
}

TEST(Import, PytestBenchmarkKeepsRoundsAndMachine) {
  const Result<BenchResult> result = import_file("pytest_benchmark.json");
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->cells.size(), 2u);
  EXPECT_EQ(result->cells[0].id, "test_b.py::test_sum[10]");
  EXPECT_EQ(result->cells[0].units[0].samples.size(), 6u);
  EXPECT_EQ(result->environment.klass, "imported: AMD EPYC, 2, Linux, x86_64");
  EXPECT_EQ(result->environment.fingerprint.count("node"), 0u);
}

TEST(Import, SeveralFilesOfOneBenchmarkAreSeveralUnits) {
  Result<BenchResult> all = import_file("google_benchmark.json");
  const Result<BenchResult> more = import_file("google_benchmark.json");
  ASSERT_TRUE(merge_import(*all, *more, "again.json").ok());
  EXPECT_EQ(all->cells.size(), 3u);
  EXPECT_EQ(all->cells[0].stats.at('A').at("latency_s").n_units, 2u);
  const Result<BenchResult> other = import_file("hyperfine.json");
  EXPECT_FALSE(merge_import(*all, *other, "h.json").ok());
}

TEST(Import, SaysWhatIsWrongAndWhere) {
  EXPECT_NE(import_error(R"({"a": 1})").find("not the JSON of hyperfine"), std::string::npos);
  EXPECT_NE(
      import_error(R"({"results": [{"command": "x", "times": [1, "a"]}]})").find("results[0]"),
      std::string::npos);
  EXPECT_NE(import_error(R"({"results": [{"command": "x", "times": [-1]}]})").find("not below 0"),
            std::string::npos);
  EXPECT_NE(import_error(R"({"results": []})").find("no benchmark"), std::string::npos);
  EXPECT_NE(
      import_error(R"({"context": {}, "benchmarks": [{"name": "a", "run_type": "aggregate"}]})")
          .find("aggregates only"),
      std::string::npos);
  EXPECT_NE(import_error(R"({"machine_info": {}, "benchmarks": [{"name": "a", "stats": {}}]})")
                .find("stats.data"),
            std::string::npos);
  EXPECT_NE(import_error(
                R"({"results": [{"command": "x", "times": [1]}, {"command": "x", "times": [1]}]})")
                .find("comes twice"),
            std::string::npos);
}

}  // namespace
}  // namespace genscope::bench

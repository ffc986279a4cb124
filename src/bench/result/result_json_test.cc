#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include <genscope/bench.h>

#include "bench/result/cell_json.h"
#include "bench/testing/sample_result.h"

namespace genscope::bench {
namespace {

using nlohmann::json;

TEST(BenchJson, ReadsBackWhatItWrote) {
  const BenchResult result = testing::full_result();
  const std::string text = to_json(result);
  const Result<BenchResult> back = from_json(text, "r.json");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_json(*back), text);
  ASSERT_EQ(back->cells.size(), result.cells.size());
  const Sample& was = result.cells[0].units[0].samples[0];
  const Sample& is = back->cells[0].units[0].samples[0];
  EXPECT_EQ(is.metrics, was.metrics);
  EXPECT_EQ(is.steps_s, was.steps_s);
  EXPECT_EQ(is.seed, was.seed);
  EXPECT_EQ(is.started_ns, was.started_ns);
  EXPECT_EQ(is.flags, was.flags);
  EXPECT_EQ(is.outputs, was.outputs);
  EXPECT_EQ(is.stages.at("denoise").steps, was.stages.at("denoise").steps);
  EXPECT_EQ(back->cells[0].params, result.cells[0].params);
  EXPECT_EQ(back->cells[0].units[0].started_unix_ns, result.cells[0].units[0].started_unix_ns);
  EXPECT_EQ(back->environment.fingerprint, result.environment.fingerprint);
  EXPECT_EQ(back->workload, result.workload);
  EXPECT_EQ(back->git_dirty, result.git_dirty);
  EXPECT_EQ(back->comparisons[0].judgement.before, result.comparisons[0].judgement.before);
  EXPECT_EQ(back->comparisons[0].stage_attribution->parts.size(), 3U);
  EXPECT_EQ(back->comparisons[0].stage_attribution->parts[0].of.size(), 2U);
  EXPECT_EQ(back->targets[0].limit_max, result.targets[0].limit_max);
  EXPECT_EQ(back->targets[0].score->confident, result.targets[0].score->confident);
  EXPECT_TRUE(std::isinf(*back->quality->pairs[0].psnr_db));
  EXPECT_EQ(back->load[0].from_arrival_s, result.load[0].from_arrival_s);
  EXPECT_EQ(back->score_parts, result.score_parts);
  EXPECT_EQ(back->exit.reasons, result.exit.reasons);
}

TEST(BenchJson, HasTheKeysOfTheSchema) {
  const json j = json::parse(to_json(testing::full_result()));
  EXPECT_EQ(j["schema"], "genscope.bench/1");
  EXPECT_EQ(j["run"]["git"]["sha"], "abc123");
  EXPECT_EQ(j["environment"]["fingerprint"]["cores"], 8);
  EXPECT_EQ(j["environment"]["fingerprint"]["gpus"][0]["name"], "GPU Z");
  EXPECT_EQ(j["workload"]["hash"], "w1");
  const json& sample = j["cells"][0]["units"][0]["samples"][0];
  EXPECT_EQ(sample["i"], 0);
  EXPECT_DOUBLE_EQ(sample["latency_s"], 1.5);
  EXPECT_NEAR(sample["steps_ms"][0].get<double>(), 100.1, 1e-9);
  EXPECT_TRUE(j["comparisons"][0]["ratio"].is_number());
  EXPECT_EQ(j["comparisons"][0]["verdict"], "regressed");
  EXPECT_EQ(j["comparisons"][0]["base"]["n"], 4);
  EXPECT_EQ(j["cells"][0]["stats"]["latency_s"]["n_units"], 4);
  EXPECT_EQ(j["suite"]["verdict_counts"]["regressed"], 1);
  EXPECT_EQ(j["exit"]["code"], 1);
  EXPECT_TRUE(j["load"][0]["percentiles_from_arrival"]["p50"].is_number());
}

TEST(BenchJson, LeavesOutWhatIsAbsent) {
  const json j = json::parse(to_json(BenchResult{}));
  EXPECT_FALSE(j.contains("quality"));
  EXPECT_FALSE(j.contains("score"));
  EXPECT_FALSE(j["run"].contains("git"));
  EXPECT_TRUE(j["cells"].is_array());
  EXPECT_TRUE(j["comparisons"].is_array());
}

TEST(BenchJson, KeepsEveryDouble) {
  Cell cell;
  cell.id = "x";
  Unit unit;
  Sample sample;
  std::uint64_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    double value = 0;
    std::memcpy(&value, &state, sizeof value);
    if (std::isfinite(value) && (value == 0 || std::fabs(value) > 1e-300)) {
      sample.steps_s.push_back(std::fabs(value) < 1e300 ? value : 0.0);
    }
    sample.steps_s.push_back(static_cast<double>(state >> 20) * 1e-9);
    sample.metrics["m" + std::to_string(i)] = value == value ? value : 1;
  }
  unit.samples.push_back(sample);
  cell.units.push_back(unit);
  const Result<Cell> back = cell_from_json(cell_to_json(cell), "c");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->units[0].samples[0].steps_s, sample.steps_s);
  EXPECT_EQ(back->units[0].samples[0].metrics, sample.metrics);
}

TEST(BenchJson, KeepsMetricsWithTheNameOfAKey) {
  Cell cell;
  cell.id = "x";
  cell.units.emplace_back().samples.emplace_back().metrics = {{"seed", 3.5}, {"i", 2}};
  const Result<Cell> back = cell_from_json(cell_to_json(cell), "c");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->units[0].samples[0].metrics, cell.units[0].samples[0].metrics);
  EXPECT_FALSE(back->units[0].samples[0].seed);
}

TEST(BenchJson, MasksSecretsAndFolders) {
  BenchResult result;
  result.argv = {"genscope", "bench", "/home/me/gen.py --api-key sk-12345678 -o /tmp/a/b.png"};
  result.labels["A"] = "HF_TOKEN=hf_abcdefghijklmnop /opt/x/run.sh";
  const std::string text = to_json(result);
  EXPECT_EQ(text.find("sk-1234"), std::string::npos);
  EXPECT_EQ(text.find("hf_abc"), std::string::npos);
  EXPECT_EQ(text.find("/home"), std::string::npos);
  EXPECT_EQ(text.find("/opt"), std::string::npos);
  EXPECT_NE(text.find("gen.py"), std::string::npos);
  const std::string identified = to_json(result, {.identify = true});
  EXPECT_NE(identified.find("/home/me/gen.py"), std::string::npos);
  EXPECT_EQ(identified.find("sk-1234"), std::string::npos);
}

std::string error_of(std::string_view text) {
  const Result<BenchResult> result = from_json(text, "r.json");
  return result.ok() ? "none" : result.error().message;
}

TEST(BenchJson, NamesFileFieldAndLineOfWhatIsWrong) {
  EXPECT_EQ(error_of(R"({"schema":"genscope.bench/1",
"cells":[{"id":"a"},
{"id":7}]})"),
            "r.json: cells[1].id, line 3: this should be a string, and is a number");
  EXPECT_EQ(
      error_of(R"({"schema":"genscope.bench/1","cells":[{"id":"a","units":[{"slot":"AB"}]}]})"),
      "r.json: cells[0].units[0].slot, line 1: this should be one letter, A (before) or B "
      "(after)");
  EXPECT_EQ(error_of(R"({"schema":"genscope.bench/1","comparisons":[{"verdict":"regresed"}]})"),
            "r.json: comparisons[0].verdict, line 1: this word is not known; did you mean "
            "regressed?");
  EXPECT_EQ(error_of(R"({"schema":"genscope.bench/2"})"),
            "r.json: line 1: this result is of a newer genscope; update genscope to read it");
  EXPECT_EQ(
      error_of(R"({"results":[]})"),
      "r.json: line 1: this is no benchmark result: \"schema\" should be \"genscope.bench/1\"");
  EXPECT_EQ(error_of(""), "r.json: line 1: the file ends here; it was cut short");
  EXPECT_EQ(error_of(R"({"schema":"genscope.bench/1","run":{"seed":-1}})"),
            "r.json: run.seed, line 1: this should be a whole number that is not negative");
  EXPECT_EQ(error_of(R"({"schema":"genscope.bench/1","exit":{"code":1e999}})"),
            "r.json: exit.code, line 1: this should be a whole number");
  EXPECT_EQ(error_of(R"({"schema":"genscope.bench/1"} x)"),
            "r.json: line 1: something follows the end of the result");
  const std::string deep(40, '[');
  EXPECT_NE(error_of(R"({"schema":"genscope.bench/1","x":)" + deep).find("nested deeper"),
            std::string::npos);
}

TEST(BenchJson, SkipsKeysOfLaterVersions) {
  EXPECT_EQ(
      error_of(R"({"schema":"genscope.bench/1","new":{"a":[1,null,true,"x\u00e9\ud83d\ude00"]},
                      "cells":[{"id":"a","later":{}}]})"),
      "none");
}

}  // namespace
}  // namespace genscope::bench

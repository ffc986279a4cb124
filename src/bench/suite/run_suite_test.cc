// Suites over a function of the test's: what is asked of it, what is kept, what is decided.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "bench/suite/suite.h"
#include "testing/temp_dir.h"

namespace genscope::bench {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// A machine whose time passes only while something is measured.
class Bench {
 public:
  Bench() {
    ::setenv("GENSCOPE_OUT", (folder_ / "runs").c_str(), 1);
    options.out = folder_ / "out";
    options.environment = [] {
      Environment environment;
      environment.klass = "test machine";
      environment.checks = {{"load", "ok", "0.40 per core", "0.5 per core"}};
      return environment;
    };
    options.monotonic_ns = [this] { return now_ns; };
    options.callable = [this](const Request& request) { return call(request); };
  }
  ~Bench() { forget_cancel(); }

  SuiteRun run(const std::string& text, const OnSuiteProgress& progress = {}) {
    const Result<Suite> suite = parse_suite(
        "suite: t\ndefaults:\n  runner: {kind: callable}\n  warmup: {mode: none}\n" + text,
        "s.yaml");
    EXPECT_TRUE(suite.ok()) << suite.error().message;
    if (!suite.ok()) return {};
    Result<SuiteRun> made = run_suite(*suite, options, progress);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? std::move(*made) : SuiteRun{};
  }

  Sample call(const Request& request) {
    ++calls;
    Sample sample = answer(request);
    const auto latency = sample.metrics.find("latency_s");
    now_ns +=
        static_cast<std::int64_t>((latency != sample.metrics.end() ? latency->second : 0.01) * 1e9);
    return sample;
  }

  // Without more: a steady second, a bit up and down.
  std::function<Sample(const Request&)> answer = [this](const Request&) {
    Sample sample;
    sample.metrics["latency_s"] = 1 + 0.0001 * static_cast<double>(calls % 7);
    return sample;
  };
  std::size_t calls = 0;
  std::int64_t now_ns = 0;
  SuiteOptions options;
  const std::string& folder() const { return folder_.path(); }

 private:
  genscope::testing::TempDir folder_;
};

const Cell& cell_named(const SuiteRun& run, const std::string& id) {
  for (const Cell& cell : run.result.cells) {
    if (cell.id == id) return cell;
  }
  static const Cell kNone;
  ADD_FAILURE() << "no cell " << id;
  return kNone;
}

Sample failed_sample(FailureClass kind) {
  Sample sample;
  sample.failure = Failure{kind, "as the test wants"};
  return sample;
}

std::string param(const Request& request, std::string_view name) {
  for (const auto& [key, value] : request.params) {
    if (key == name) return value;
  }
  return "";
}

TEST(RunSuite, MeasuresEveryCellAndWritesTheResult) {
  Bench bench;
  const SuiteRun run =
      bench.run("  processes: {min: 4, max: 12}\nmatrix: {axes: {steps: [1, 2]}}\n");
  EXPECT_EQ(run.result.exit.code, 0);
  ASSERT_EQ(run.result.cells.size(), 2u);
  for (const Cell& cell : run.result.cells) {
    EXPECT_EQ(cell.status, "ok");
    EXPECT_GE(cell.units.size(), 6u);  // an interval of the median needs six
    EXPECT_LE(cell.units.size(), 12u);
    EXPECT_TRUE(cell.stats.at('A').at("latency_s").ci.has_value());
  }
  const Result<BenchResult> read = read_result(run.folder + "/result.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->suite, "t");
  EXPECT_EQ(read->suite_hash.size(), 16u);
}

TEST(RunSuite, CellsTakeTurns) {
  Bench bench;
  std::string order;
  const auto plain = bench.answer;
  bench.answer = [&](const Request& request) {
    order += param(request, "c");
    return plain(request);
  };
  bench.run("  processes: 6\n  order: latin\nmatrix: {axes: {c: [a, b]}}\n");
  EXPECT_EQ(order.size(), 12u);
  EXPECT_EQ(order.find("aaa"), std::string::npos) << order;
  EXPECT_EQ(order.find("bbb"), std::string::npos) << order;
}

TEST(RunSuite, PromptsAndSeedsBelongToTheUnit) {
  const auto asked = [](std::uint64_t seed) {
    Bench bench;
    bench.options.seed = seed;
    std::map<std::string, std::vector<std::string>> by_cell;
    const auto plain = bench.answer;
    bench.answer = [&](const Request& request) {
      by_cell[param(request, "c")].push_back(request.prompt + std::to_string(*request.seed));
      return plain(request);
    };
    bench.run(
        "  processes: 4\nmatrix: {axes: {c: [a, b]}}\n"
        "prompts: {list: [cat, dog], seeds: [7, 8]}\n");
    return by_cell;
  };
  const auto first = asked(1);
  EXPECT_THAT(first.at("a"), ::testing::ElementsAre("cat7", "dog7", "cat8", "dog8"));
  EXPECT_EQ(first.at("a"), first.at("b"));
  EXPECT_EQ(asked(99), first);  // the order of the cells changes, their work does not
}

TEST(RunSuite, EveryFailureClassEndsItsCellAlone) {
  for (const FailureClass kind :
       {FailureClass::timeout, FailureClass::crash, FailureClass::exit_nonzero,
        FailureClass::nan_output, FailureClass::blank_output, FailureClass::bad_output,
        FailureClass::http_error, FailureClass::startup_failed, FailureClass::oom_host}) {
    Bench bench;
    const auto plain = bench.answer;
    bench.answer = [&](const Request& request) {
      return param(request, "c") == "bad" ? failed_sample(kind) : plain(request);
    };
    const SuiteRun run = bench.run("  processes: 6\nmatrix: {axes: {c: [bad, good]}}\n");
    EXPECT_EQ(cell_named(run, "c=bad").status, "failed");
    EXPECT_EQ(cell_named(run, "c=bad").failure->kind, kind);
    EXPECT_EQ(cell_named(run, "c=good").status, "ok");
    EXPECT_EQ(run.result.exit.code, kProductFailed) << name(kind);
  }
}

TEST(RunSuite, RetriesByPolicy) {
  struct Case {
    FailureClass kind;
    std::size_t failures;
    bool works;
  };
  // {infra: 1, throttled: 5, product_failure: 0}
  for (const Case& one :
       {Case{FailureClass::startup_failed, 1, true}, Case{FailureClass::startup_failed, 2, false},
        Case{FailureClass::throttled, 5, true}, Case{FailureClass::exit_nonzero, 1, false}}) {
    Bench bench;
    const auto plain = bench.answer;
    bench.answer = [&](const Request& request) {
      return bench.calls <= one.failures ? failed_sample(one.kind) : plain(request);
    };
    const SuiteRun run = bench.run("  processes: 6\n");
    EXPECT_EQ(run.result.cells[0].status, one.works ? "ok" : "failed") << name(one.kind);
    if (one.works) {
      EXPECT_THAT(run.result.cells[0].units[0].samples[0].flags,
                  Contains("retried after " + std::string(name(one.kind))));
    }
  }
}

TEST(RunSuite, SkipsWhatDominatesAnOomAndRemembersIt) {
  Bench bench;
  const std::string suite =
      "  processes: 6\n  order: latin\nmatrix:\n  axes: {size: [64x64, 128x128, 256x256], batch: "
      "[1, 4]}\n"
      "  oom: {dominance: [size.pixels, batch], remember: true}\n";
  const auto plain = bench.answer;
  std::size_t tried_large = 0;
  bench.answer = [&](const Request& request) {
    const bool large = param(request, "size") != "64x64" && param(request, "batch") == "4";
    tried_large += large ? 1 : 0;
    return large ? failed_sample(FailureClass::oom_gpu) : plain(request);
  };
  const SuiteRun first = bench.run(suite);
  EXPECT_EQ(first.result.exit.code, 0);  // the suite looks for the edge
  EXPECT_EQ(cell_named(first, "batch=4,size=128x128").failure->kind, FailureClass::oom_gpu);
  const Cell& dominated = cell_named(first, "batch=4,size=256x256");
  EXPECT_EQ(dominated.status, "skipped");
  EXPECT_EQ(cell_named(first, "batch=1,size=256x256").status, "ok");
  EXPECT_EQ(tried_large, 1u);
  const SuiteRun second = bench.run(suite);
  EXPECT_EQ(tried_large, 1u);
  EXPECT_THAT(cell_named(second, "batch=4,size=128x128").failure->detail,
              HasSubstr("at least as large as batch=4,size=128x128, which ran out of memory on"));
  bench.options.retry_oom = true;
  bench.run(suite);
  EXPECT_EQ(tried_large, 2u);
}

TEST(RunSuite, BudgetGoesToEveryCellFirst) {
  Bench bench;
  bench.options.budget_s = 10;
  const SuiteRun run = bench.run(
      "  processes: {min: 4, max: 100}\n"
      "  stop: {rel_half_width: 0.0001%}\nmatrix: {axes: {c: [1, 2, 3, 4]}}\n");
  std::size_t units = 0;
  for (const Cell& cell : run.result.cells) {
    EXPECT_GE(cell.units.size(), 2u);
    units += cell.units.size();
  }
  EXPECT_GE(units, 9u);
  EXPECT_LE(units, 10u);
}

TEST(RunSuite, BudgetTooSmallForACellSaysSo) {
  Bench bench;
  bench.options.budget_s = 1.5;
  const SuiteRun run = bench.run("  processes: 4\nmatrix: {axes: {c: [1, 2, 3]}}\n");
  std::size_t skipped = 0;
  for (const Cell& cell : run.result.cells) {
    if (cell.status != "skipped") continue;
    ++skipped;
    EXPECT_THAT(cell.failure->detail, HasSubstr("the budget of 1.5 s was used up"));
  }
  EXPECT_EQ(skipped, 1u);
}

TEST(RunSuite, StopsOnWidth) {
  Bench steady, noisy;
  noisy.answer = [&](const Request&) {
    Sample sample;
    sample.metrics["latency_s"] = noisy.calls % 2 == 0 ? 1.0 : 1.5;
    return sample;
  };
  const std::string suite = "  processes: {min: 4, max: 20}\n";
  EXPECT_LT(steady.run(suite).result.cells[0].units.size(), 10u);
  EXPECT_EQ(noisy.run(suite).result.cells[0].units.size(), 20u);
}

TEST(RunSuite, CellTimeEndsIt) {
  Bench bench;
  const SuiteRun run = bench.run(
      "  processes: {min: 4, max: 100}\n  timeout: {cell: 3s}\n  stop: {rel_half_width: "
      "0.0001%}\n");
  EXPECT_LE(run.result.cells[0].units.size(), 4u);
  EXPECT_EQ(run.result.cells[0].status, "ok");
}

TEST(RunSuite, ResumesAndMeasuresEachUnitOnce) {
  const std::string suite = "  processes: 6\nmatrix: {axes: {c: [1, 2, 3]}}\n";
  for (const std::size_t stop_after : {1, 5, 17}) {
    Bench bench;
    const SuiteRun first =
        bench.run(suite, [&](const SuiteProgress& told) { return told.units_done < stop_after; });
    ASSERT_TRUE(first.interrupted);
    EXPECT_EQ(first.result.exit.code, kInterrupted);
    EXPECT_FALSE(std::filesystem::exists(first.folder + "/result.json"));
    bench.options.resume = first.folder;
    const SuiteRun second = bench.run(suite);
    EXPECT_EQ(second.resumed_units, stop_after);
    EXPECT_EQ(bench.calls, 18u);
    EXPECT_EQ(second.result.id, first.result.id);
    for (const Cell& cell : second.result.cells) {
      ASSERT_EQ(cell.units.size(), 6u);
      for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(cell.units[i].process, i);
    }
  }
}

TEST(RunSuite, RefusesToResumeAnotherSuite) {
  Bench bench;
  const SuiteRun first = bench.run("  processes: 6\n", [](const SuiteProgress&) { return false; });
  bench.options.resume = first.folder;
  const Result<Suite> other =
      parse_suite("suite: t\ndefaults:\n  runner: {kind: callable}\n  processes: 7\n", "s.yaml");
  const Result<SuiteRun> refused = run_suite(*other, bench.options);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("the suite has changed since this run began"));
}

TEST(RunSuite, FailedCellsStayFailedAfterResume) {
  Bench bench;
  const auto plain = bench.answer;
  bench.answer = [&](const Request& request) {
    return param(request, "c") == "1" ? failed_sample(FailureClass::crash) : plain(request);
  };
  const std::string suite = "  processes: 6\n  order: latin\nmatrix: {axes: {c: [1, 2]}}\n";
  const SuiteRun first =
      bench.run(suite, [](const SuiteProgress& told) { return told.units_done < 3; });
  const std::size_t before = bench.calls;
  bench.options.resume = first.folder;
  const SuiteRun second = bench.run(suite);
  EXPECT_EQ(cell_named(second, "c=1").status, "failed");
  EXPECT_EQ(cell_named(second, "c=1").units.size(), 1u);
  EXPECT_EQ(bench.calls - before, 7u - 3u);
}

TEST(RunSuite, TargetsAndScores) {
  Bench bench;
  const SuiteRun met = bench.run(
      "  processes: 6\ntargets: [{metric: latency_s, max: 1.5}, "
      "{metric: latency_ms, max: 2s, score_weight: 3}]\n");
  EXPECT_EQ(met.result.exit.code, 0);
  EXPECT_DOUBLE_EQ(*met.result.score, 100);
  EXPECT_EQ(met.result.targets[0].score->confident, true);
  EXPECT_NEAR(*met.result.targets[1].value, 1000, 1);
  const SuiteRun missed = bench.run("  processes: 6\ntargets: [{metric: latency_s, max: 500ms}]\n");
  EXPECT_EQ(missed.result.exit.code, kVerdictFailed);
  EXPECT_NEAR(*missed.result.score, 50, 0.1);
  const SuiteRun open = bench.run(
      "  processes: 6\ntargets: [{metric: gpu_util_pct, min: 85}, {metric: latency_s, stat: p99, "
      "max: 5}]\n");
  EXPECT_EQ(open.result.exit.code, 0);
  EXPECT_FALSE(open.result.targets[0].score.has_value());
  EXPECT_THAT(open.result.targets[1].absent, HasSubstr("p99 needs"));
  const SuiteRun typo = bench.run("  processes: 6\ntargets: [{metric: latncy_s, max: 1}]\n");
  EXPECT_THAT(typo.result.targets[0].absent, HasSubstr("did you mean latency_s?"));
}

// Thirty times as fast: met only if the whole interval is.
TEST(RunSuite, SpeedupIsJudgedOnTheConservativeEnd) {
  Bench bench;
  bench.answer = [&](const Request&) {
    Sample sample;
    sample.metrics["latency_s"] = 30 + 0.1 * static_cast<double>(bench.calls % 5);
    return sample;
  };
  const SuiteRun before = bench.run("  processes: 8\n");
  bench.options.find_baseline = [&](const std::string& name) -> Result<BenchResult> {
    if (name == "before") return before.result;
    return Error{ErrorCode::not_found, "no baseline is called " + name};
  };
  const auto speed = [&](double seconds) {
    bench.answer = [&bench, seconds](const Request&) {
      Sample sample;
      sample.metrics["latency_s"] = seconds * (1 + 0.01 * static_cast<double>(bench.calls % 5));
      return sample;
    };
    return bench.run("  processes: 8\ntargets: [{speedup_vs: before, min: 30}]\n");
  };
  const SuiteRun fast = speed(0.9);
  EXPECT_EQ(fast.result.exit.code, 0);
  EXPECT_TRUE(fast.result.targets[0].score->met);
  EXPECT_GT(*fast.result.targets[0].value, 30);
  const SuiteRun nearly = speed(0.99);  // about 30 times; the interval reaches below
  EXPECT_EQ(nearly.result.exit.code, kVerdictFailed);
  EXPECT_LT(nearly.result.targets[0].score->score, 100);
  const SuiteRun lost = bench.run("  processes: 8\ntargets: [{speedup_vs: nobody, min: 30}]\n");
  EXPECT_EQ(lost.result.exit.code, kNoBaseline);
}

TEST(RunSuite, GatesAgainstABaseline) {
  Bench bench;
  const SuiteRun before = bench.run("  processes: 8\nmatrix: {axes: {c: [1, 2]}}\n");
  bench.options.find_baseline = [&](const std::string&) -> Result<BenchResult> {
    return before.result;
  };
  const std::string suite =
      "  processes: 8\nmatrix: {axes: {c: [1, 2]}}\n"
      "metrics: {latency_s: {min_effect: 2%, gate: true}, energy_j: {gate: true}}\n"
      "compare: {baseline: main}\n";
  EXPECT_EQ(bench.run(suite).result.exit.code, 0);
  const auto plain = bench.answer;
  bench.answer = [&](const Request& request) {
    Sample sample = plain(request);
    if (param(request, "c") == "2") sample.metrics["latency_s"] *= 1.05;
    return sample;
  };
  const SuiteRun slower = bench.run(suite);
  EXPECT_EQ(slower.result.exit.code, kVerdictFailed);
  for (const Comparison& one : slower.result.comparisons) {
    if (one.metric == "energy_j") {
      EXPECT_EQ(one.judgement.verdict, Verdict::insufficient);  // open, not passed
    } else {
      EXPECT_EQ(one.judgement.verdict, one.cell == "c=2" ? Verdict::regressed : Verdict::unchanged);
      EXPECT_TRUE(one.judgement.p_adjusted.has_value());
    }
  }
}

TEST(RunSuite, SuccessRate) {
  Bench bench;
  const auto plain = bench.answer;
  bench.answer = [&](const Request& request) {
    return bench.calls % 5 == 0 ? failed_sample(FailureClass::blank_output) : plain(request);
  };
  EXPECT_EQ(bench.run("  processes: 20\nprompts: {list: [a], min_success: 0.7}\n").result.exit.code,
            0);
  const SuiteRun low = bench.run("  processes: 20\nprompts: {list: [a], min_success: 95%}\n");
  EXPECT_EQ(low.result.exit.code, kProductFailed);
  EXPECT_THAT(low.result.exit.reasons[0], HasSubstr("of 20 succeeded; the suite wants 95 %."));
}

TEST(RunSuite, Cost) {
  Bench bench;
  const SuiteRun run =
      bench.run("  processes: 6\nmatrix: {axes: {batch: [4]}}\ncost: {usd_per_hour: 3.6}\n");
  const MetricStats& usd = run.result.cells[0].stats.at('A').at("cost_usd_per_image");
  EXPECT_NEAR(usd.median, 0.001 / 4, 1e-6);
  EXPECT_TRUE(usd.ci.has_value());
  EXPECT_TRUE(run.result.cells[0].absent.contains("energy_j_per_image"));
}

TEST(RunSuite, EnergyAndMemoryOfAnImage) {
  Bench bench;
  const auto plain = bench.answer;
  bench.answer = [&](const Request& request) {
    Sample sample = plain(request);
    sample.metrics["energy_j"] = 100;
    sample.metrics["energy_idle_j"] = 20 * sample.metrics.at("latency_s");
    sample.metrics["energy_net_j"] = 80;
    sample.metrics["vram_peak_bytes"] = 8e9;
    return sample;
  };
  const SuiteRun run = bench.run("  processes: 6\nmatrix: {axes: {batch: [4]}}\n");
  const auto& stats = run.result.cells[0].stats.at('A');
  EXPECT_EQ(stats.at("energy_j_per_image").median, 20);
  EXPECT_EQ(stats.at("vram_peak_bytes_per_image").median, 2e9);
  const auto& checks = run.result.environment.checks;
  ASSERT_FALSE(checks.empty());
  EXPECT_EQ(checks.back().name, "gpu_idle_power");
  EXPECT_EQ(checks.back().value, "20.0 W, subtracted from energy_j_per_image");
  // Without an axis of images there is no memory of one: it would be the peak under another name.
  const SuiteRun single = bench.run("  processes: 6\n");
  EXPECT_FALSE(single.result.cells[0].stats.at('A').contains("vram_peak_bytes_per_image"));
  EXPECT_EQ(single.result.cells[0].stats.at('A').at("energy_j_per_image").median, 80);
}

TEST(RunSuite, AnUnfitMachineMeasuresNothing) {
  Bench bench;
  const SuiteRun marked =
      bench.run("  processes: 6\nenvironment: {require: {gpu: 'RTX*'}, warn: [load>0.3]}\n");
  EXPECT_EQ(marked.result.exit.code, 0);
  EXPECT_EQ(marked.result.environment.checks[1].status, "warn");
  EXPECT_EQ(marked.result.environment.checks[2].status, "warn");
  EXPECT_EQ(marked.result.environment.checks[2].value, "0.40 per core");
  bench.calls = 0;
  const SuiteRun unfit =
      bench.run("  processes: 6\nenvironment: {require: {gpu: 'RTX*'}, on_violation: fail}\n");
  EXPECT_EQ(unfit.result.exit.code, kUnfit);
  EXPECT_EQ(bench.calls, 0u);
}

TEST(RunSuite, ACallableIsNeeded) {
  Bench bench;
  bench.options.callable = nullptr;
  const Result<Suite> suite =
      parse_suite("suite: t\ndefaults: {runner: {kind: callable}}\n", "s.yaml");
  const Result<SuiteRun> run = run_suite(*suite, bench.options);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("call run_suite() from C++ or Python"));
}

}  // namespace
}  // namespace genscope::bench

#include <gtest/gtest.h>

#include <genscope/bench.h>

namespace genscope::bench {
namespace {

Sample timed(double latency_s, double memory = 1e9) {
  Sample sample;
  sample.metrics = {{"latency_s", latency_s}, {"rss_peak_bytes", memory}};
  return sample;
}

// Both sides in turns, ABBA; B is `ratio` times A.
Cell turns(std::string id, double ratio, std::size_t n = 8, double memory_ratio = 1) {
  Cell cell;
  cell.id = std::move(id);
  for (std::uint32_t i = 0; i < n; ++i) {
    const double wobble = 1 + 0.001 * static_cast<double>((i * 7) % 5);
    Unit a, b;
    a.process = b.process = i;
    a.order_index = 2 * i + (i % 2);
    b.order_index = 2 * i + (1 - i % 2);
    b.slot = 'B';
    a.samples = {timed(wobble, 1e9 * wobble)};
    b.samples = {timed(wobble * ratio, 1e9 * wobble * memory_ratio)};
    cell.units.push_back(a);
    cell.units.push_back(b);
  }
  return cell;
}

Cell one_side(std::string id, double level) {
  Cell cell = turns(std::move(id), 1);
  std::erase_if(cell.units, [](const Unit& unit) { return unit.slot == 'B'; });
  for (Unit& unit : cell.units) unit.samples[0].metrics["latency_s"] *= level;
  return cell;
}

TEST(CompareSides, FindsASlowerSideAndPutsLatencyFirst) {
  BenchResult result;
  result.cells = {turns("a", 1.05)};
  const auto found = compare_sides(result, {});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].metric, "latency_s");
  EXPECT_TRUE(found[0].gate);
  EXPECT_EQ(found[0].judgement.verdict, Verdict::regressed);
  EXPECT_NEAR(*found[0].judgement.ratio, 1.05, 1e-9);
  EXPECT_EQ(found[0].judgement.pairs, 8U);
  EXPECT_FALSE(found[0].judgement.drift_unprotected);
  EXPECT_EQ(found[1].metric, "rss_peak_bytes");
  EXPECT_FALSE(found[1].gate);
  EXPECT_EQ(found[1].judgement.verdict, Verdict::unchanged);
  EXPECT_TRUE(found[1].judgement.q);
}

TEST(CompareSides, SaysThatBlocksAreNotProtectedFromDrift) {
  BenchResult result;
  result.cells = {turns("a", 1.05)};
  for (Unit& unit : result.cells[0].units) {
    unit.order_index = unit.process + (unit.slot == 'B' ? 8U : 0U);
  }
  EXPECT_TRUE(compare_sides(result, {})[0].judgement.drift_unprotected);
}

TEST(CompareSides, CorrectsGatesForTheirNumber) {
  BenchResult result;
  for (int i = 0; i < 30; ++i) result.cells.push_back(turns("c" + std::to_string(i), 1.0));
  result.cells.push_back(turns("few", 1.05, 4));
  BenchResult single;
  single.cells = {result.cells.back()};
  const auto alone = compare_sides(single, {});
  EXPECT_EQ(alone[0].judgement.verdict, Verdict::regressed);
  const auto all = compare_sides(result, {});
  const auto few = std::find_if(all.begin(), all.end(), [](const Comparison& c) {
    return c.cell == "few" && c.metric == "latency_s";
  });
  EXPECT_EQ(few->judgement.verdict, Verdict::inconclusive);  // 4 runs cannot carry 31 gates
  EXPECT_GT(*few->judgement.p_adjusted, 0.05);
}

TEST(CompareSides, AFallOfTheSuccessRateIsARegression) {
  BenchResult result;
  result.cells = {turns("a", 0.8, 12)};
  const auto fail_b = [&](std::size_t n, FailureClass kind) {
    for (std::size_t i = 0; i < n; ++i) {
      Unit unit;
      unit.slot = 'B';
      unit.samples.resize(1);
      unit.samples[0].failure = Failure{kind, ""};
      result.cells[0].units.push_back(unit);
    }
  };
  const auto last = [&] { return compare_sides(result, {}).back(); };
  fail_b(3, FailureClass::cancelled);  // not its own
  EXPECT_EQ(last().metric, "rss_peak_bytes");
  fail_b(1, FailureClass::crash);
  EXPECT_EQ(last().metric, "success_ratio");
  EXPECT_EQ(last().judgement.verdict, Verdict::inconclusive);
  EXPECT_EQ(last().judgement.reason,
            "12 of 12 succeeded before, 12 of 13 now; chance alone can do that");
  fail_b(6, FailureClass::oom_gpu);
  EXPECT_EQ(last().judgement.verdict, Verdict::regressed);
  EXPECT_TRUE(last().gate);
  EXPECT_EQ(compare_sides(result, {})[0].judgement.verdict, Verdict::improved);
  result.comparisons = compare_sides(result, {});
  EXPECT_EQ(decide_exit(result, false).code, kVerdictFailed);
  result.cells = {turns("a", 1, 12)};
  EXPECT_EQ(last().metric, "rss_peak_bytes");
}

TEST(CompareSides, JudgesEachMetricByItsRule) {
  BenchResult result;
  result.cells = {turns("a", 1.03, 8, 1.03)};
  MetricRules rules;
  rules["latency_s"].judge.min_effect = 0.05;
  rules["rss_peak_mb"] = {.judge = {.min_effect = 0.01}, .gate = true};
  const auto found = compare_sides(result, {}, rules);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].judgement.verdict, Verdict::unchanged);
  EXPECT_FALSE(found[0].gate);
  EXPECT_EQ(found[2].metric, "rss_peak_mb");
  EXPECT_TRUE(found[2].gate);
  EXPECT_EQ(found[2].judgement.verdict, Verdict::regressed);
  EXPECT_NEAR(*found[2].judgement.before, 1002, 3);
}

TEST(CompareResults, ComparesByCell) {
  BenchResult base, now;
  base.id = "base-1";
  base.cells = {one_side("a", 1), one_side("b", 2)};
  now.cells = {one_side("b", 2.2), one_side("a", 1), one_side("new", 1)};
  const auto found = compare_results(base, now, {});
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0].cell, "b");
  EXPECT_EQ(found[0].base, "base-1");
  EXPECT_EQ(found[0].judgement.verdict, Verdict::regressed);
  EXPECT_TRUE(found[0].judgement.drift_unprotected);
  EXPECT_EQ(found[2].judgement.verdict, Verdict::unchanged);
  EXPECT_EQ(found[4].judgement.verdict, Verdict::incomparable);
  EXPECT_EQ(found[4].judgement.reason, "the baseline has no such cell");
}

TEST(CompareResults, RefusesOtherMachinesAndOtherWork) {
  BenchResult base, now;
  base.cells = now.cells = {one_side("a", 1)};
  base.environment.klass = "GPU A";
  now.environment.klass = "GPU B";
  base.workload_hash = "1";
  now.workload_hash = "2";
  base.workload = {{"steps", "28"}, {"lora", "x"}};
  now.workload = {{"steps", "30"}};
  const auto why = why_incomparable(base, now);
  ASSERT_EQ(why.size(), 2U);
  EXPECT_EQ(why[0], "the machines differ: GPU A before, GPU B now");
  EXPECT_EQ(why[1], "the work differs: lora is gone, steps 28 -> 30");
  const auto found = compare_results(base, now, {});
  EXPECT_EQ(found[0].judgement.verdict, Verdict::incomparable);
  EXPECT_NE(found[0].judgement.reason.find("steps 28 -> 30"), std::string::npos);
  now.comparisons = found;
  EXPECT_EQ(decide_exit(now, false).code, kNoBaseline);
}

BenchResult passed() {
  BenchResult result;
  result.cells = {one_side("a", 1)};
  return result;
}

Comparison gate(Verdict verdict) {
  Comparison out;
  out.cell = "a";
  out.metric = "latency_s";
  out.gate = true;
  out.judgement.verdict = verdict;
  out.judgement.reason = "because";
  return out;
}

TEST(Exit, HasOneCodeForEachCause) {
  EXPECT_EQ(decide_exit(passed(), true).code, kPass);
  EXPECT_EQ(decide_exit(BenchResult{}, false).code, kNothingMeasured);

  BenchResult r = passed();
  r.comparisons = {gate(Verdict::inconclusive)};
  EXPECT_EQ(decide_exit(r, false).code, kPass);
  EXPECT_EQ(decide_exit(r, true).code, kInconclusive);
  EXPECT_EQ(decide_exit(r, false).reasons.at(0), "latency_s of a is open: because.");
  r.comparisons.push_back(gate(Verdict::regressed));
  EXPECT_EQ(decide_exit(r, true).code, kVerdictFailed);
  EXPECT_EQ(decide_exit(r, true).reasons.at(0), "latency_s of a regressed: because.");
  r.comparisons.back().gate = false;
  EXPECT_EQ(decide_exit(r, false).code, kPass);

  r.cells[0].status = "failed";
  r.cells[0].failure = Failure{FailureClass::timeout, "after 5 s\nmore"};
  EXPECT_EQ(decide_exit(r, false).code, kProductFailed);
  EXPECT_EQ(decide_exit(r, false).reasons.at(0), "a failed: timeout, after 5 s.");
  r.environment.checks = {{"gpu", "unfit", "T4", "RTX 4080*"}};
  EXPECT_EQ(decide_exit(r, false).code, kUnfit);
}

TEST(Exit, CountsTargetsAndQuality) {
  BenchResult r = passed();
  TargetResult target;
  target.metric = "latency_s";
  target.limit_max = 1;
  target.value = 2;
  target.score = TargetScore{50, false, false};
  r.targets = {target};
  EXPECT_EQ(decide_exit(r, false).reasons.at(0),
            "latency_s misses its target: 2, should be at most 1.");
  EXPECT_EQ(decide_exit(r, false).code, kVerdictFailed);
  r.targets[0].score = TargetScore{100, true, false};
  EXPECT_EQ(decide_exit(r, false).code, kPass);
  EXPECT_EQ(decide_exit(r, true).code, kInconclusive);
  r.targets.clear();
  r.quality = QualityResult{{}, "lower_quality", "ssim 0.5"};
  EXPECT_EQ(decide_exit(r, false).code, kVerdictFailed);
}

TEST(Exit, TheWorseCodeWins) {
  EXPECT_EQ(worse_exit(0, 3), 3);
  EXPECT_EQ(worse_exit(1, 3), 1);
  EXPECT_EQ(worse_exit(1, 4), 4);
  EXPECT_EQ(worse_exit(6, 4), 6);
  EXPECT_EQ(worse_exit(6, 5), 5);
  EXPECT_EQ(worse_exit(7, 5), 7);
  EXPECT_EQ(worse_exit(7, 2), 2);
  EXPECT_EQ(worse_exit(2, 130), 130);
}

}  // namespace
}  // namespace genscope::bench

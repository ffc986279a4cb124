// A result with something in every field, for tests of what reads and writes results.
#pragma once

#include <limits>

#include <genscope/bench.h>

namespace genscope::bench::testing {

inline Unit sample_unit(char slot, std::uint32_t process, double latency_s) {
  Unit unit;
  unit.process = process;
  unit.order_index = process * 2 + (slot == 'B' ? 1 : 0);
  unit.slot = slot;
  unit.started_unix_ns = 1'790'000'000'123'456'789;
  unit.warmup_s = {latency_s * 2};
  Sample sample;
  sample.prompt = "a cat";
  sample.seed = -7;
  sample.started_ns = 9'007'199'254'740'993;  // beyond 2^53
  sample.metrics = {{"latency_s", latency_s}, {"rss_peak_bytes", 123456789}, {"cpu_s", 0.1 + 0.2}};
  sample.stages["denoise"] = {.seconds = latency_s / 3, .steps = 20};
  sample.stages["decode"] = {.seconds = 0.1, .steps = 0};
  sample.steps_s = {0.1001, 0.30000000000000004};
  sample.flags = {"throttled"};
  sample.outputs = {"out/a.png"};
  unit.samples.push_back(sample);
  return unit;
}

inline Judgement regressed_judgement() {
  Judgement j;
  j.verdict = Verdict::regressed;
  j.reason = "4.9% to 5.2% slower";
  j.method = JudgeMethod::hodges_lehmann;
  j.before_n = 4;
  j.after_n = 4;
  j.before = 1.5;
  j.after = 1.575;
  j.ratio = 1.05;
  j.interval = stats::Interval{1.049, 1.052, 0.9714};
  j.floor = 0.01;
  j.p_value = 0.03;
  j.p_floor = 0.02;
  j.notes = {"A note."};
  return j;
}

inline Attribution sample_attribution() {
  Attribution a;
  a.total = {.name = "total",
             .before = 1.5,
             .after = 1.575,
             .difference = 0.075,
             .interval = stats::Interval{0.07, 0.08, 0.95},
             .share = 1.0,
             .of = {}};
  PartChange denoise{.name = "denoise",
                     .before = 1,
                     .after = 1.07,
                     .difference = 0.07,
                     .interval = stats::Interval{0.06, 0.08, 0.95},
                     .share = 0.93,
                     .of = {}};
  denoise.of = {{.name = "steps",
                 .before = 20,
                 .after = 20,
                 .difference = 0,
                 .interval = {},
                 .share = 0.0,
                 .of = {}},
                {.name = "per step",
                 .before = 0.05,
                 .after = 0.0535,
                 .difference = 0.07,
                 .interval = {},
                 .share = 0.93,
                 .of = {}}};
  a.parts = {denoise,
             {.name = "decode",
              .before = 0.1,
              .after = 0.1,
              .difference = 0,
              .interval = {},
              .share = 0.0,
              .of = {}},
             {.name = "outside",
              .before = 0.4,
              .after = 0.405,
              .difference = 0.005,
              .interval = {},
              .share = 0.07,
              .of = {}}};
  a.notes = {"load was left out."};
  return a;
}

inline Cell sample_cell(std::string id, double ratio) {
  Cell cell;
  cell.id = std::move(id);
  cell.params = {{"steps", "20"}, {"arch", "mmdit"}};  // not in the order of the alphabet
  for (std::uint32_t i = 0; i < 4; ++i) {
    const double wobble = 1 + 0.002 * static_cast<double>(i);
    cell.units.push_back(sample_unit('A', i, 1.5 * wobble));
    cell.units.push_back(sample_unit('B', i, 1.5 * ratio * wobble));
  }
  for (const char slot : {'A', 'B'}) {
    MetricStats s;
    s.n_units = s.n_samples = 4;
    s.median = s.mean = slot == 'A' ? 1.5 : 1.5 * ratio;
    s.min = s.median;
    s.max = s.median * 1.006;
    s.ci = stats::Interval{s.min, s.max, 0.9375};
    s.sd = 0.003;
    s.cv = 0.002;
    s.mad = 0.001;
    s.p = {{"p50", s.median}};
    s.hd = {{"p90", s.max}};
    s.acf1 = 0.1;
    s.n_eff = 3.3;
    s.mde = 0.012;
    s.outliers_mild = 1;
    cell.stats[slot]["latency_s"] = s;
  }
  return cell;
}

inline void add_verdicts(BenchResult& r) {
  r.comparisons.push_back({.cell = "steps=20,arch=mmdit",
                           .metric = "latency_s",
                           .base = "A",
                           .judgement = regressed_judgement(),
                           .stage_attribution = sample_attribution(),
                           .gate = true});
  Judgement open = regressed_judgement();
  open.verdict = Verdict::inconclusive;
  open.reason = "between 2.0% faster and 3.0% slower: more runs decide";
  open.ratio = 1.005;
  open.interval = stats::Interval{0.98, 1.03, 0.9714};
  open.runs_needed = 12;
  r.comparisons.push_back({.cell = "steps=20,arch=unet",
                           .metric = "latency_s",
                           .base = "A",
                           .judgement = open,
                           .stage_attribution = {},
                           .gate = true});
  Judgement same = regressed_judgement();
  same.verdict = Verdict::unchanged;
  same.reason = "unchanged within 1%";
  same.ratio = 1.0005;
  same.interval = stats::Interval{0.999, 1.002, 0.9714};
  same.mde = 0.012;
  r.comparisons.push_back({.cell = "steps=20,arch=unet",
                           .metric = "rss_peak_bytes",
                           .base = "A",
                           .judgement = same,
                           .stage_attribution = {},
                           .gate = false});
}

inline void add_outcomes(BenchResult& r) {
  TargetResult target;
  target.cell = "steps=20,arch=mmdit";
  target.metric = "latency_s";
  target.stat = "median";
  target.limit_max = 1.2;
  target.value = 1.575;
  target.ci = stats::Interval{1.57, 1.58, 0.95};
  target.score = TargetScore{76.2, false, false};
  target.weight = 3;
  r.targets.push_back(target);
  QualityPair pair;
  pair.cell = "steps=20,arch=mmdit";
  pair.prompt = "a cat";
  pair.seed = 1;
  pair.same_bytes = true;
  pair.psnr_db = std::numeric_limits<double>::infinity();
  pair.ssim = 1;
  pair.before["clip"] = 31.5;
  pair.after["clip"] = 31.4;
  r.quality = QualityResult{{pair}, "same_bytes", "All 1 pair has the same bytes."};
  LoadResultSummary load;
  load.cell = "steps=20,arch=mmdit";
  load.unit = 2;
  load.max_failed = 0.01;
  load.min_goodput_per_s = 0.3;
  load.scenario = "server";
  load.offered_per_s = 0.4;
  load.achieved_per_s = 0.39;
  load.requests = 240;
  load.failed = 1;
  load.from_arrival_s = {{"p50", 2.5}};
  load.service_s = {{"p50", 1.5}};
  load.schedule_delay_s = {{"max", 0.001}};
  load.slo_s = 20;
  load.slo_attainment = 0.99;
  load.goodput_per_s = 0.38;
  load.refused = "p99 needs 662 requests.";
  r.load.push_back(load);
  r.score = 76.2;
  r.score_parts = {{"latency", 76.2}};
  r.exit = {1, {"latency_s of steps=20,arch=mmdit regressed: 4.9% to 5.2% slower."}};
}

inline BenchResult full_result() {
  BenchResult r;
  r.id = "2026-11-18T01-00-00-abc";
  r.suite = "qwen";
  r.suite_hash = "s1";
  r.started = "2026-11-18T01:00:00Z";
  r.ended = "2026-11-18T01:10:00Z";
  r.tool_version = "0.1.0";
  r.argv = {"genscope", "bench", "run", "suite.yaml"};
  r.seed = 18'446'744'073'709'551'615U;
  r.git_sha = "abc123";
  r.git_branch = "main";
  r.git_dirty = false;
  r.environment.klass = "GPU Z x1, driver 550, Linux";
  r.environment.fingerprint = {{"cpu", "CPU X"},
                               {"cores", "8"},
                               {"ram_bytes", "16000000000"},
                               {"gpus.0.name", "GPU Z"},
                               {"gpus.0.vram_bytes", "8000000000"}};
  r.environment.checks = {{"governor", "warn", "powersave", "performance"}};
  r.workload = {{"model", "qwen-image"}, {"steps", "20"}};
  r.workload_hash = "w1";
  r.labels = {{"A", "python gen.py"}, {"B", "python gen.py --compile"}};
  r.cells = {sample_cell("steps=20,arch=mmdit", 1.05), sample_cell("steps=20,arch=unet", 1.0005)};
  add_verdicts(r);
  add_outcomes(r);
  return r;
}

}  // namespace genscope::bench::testing

#include "bench/result/comparison_json.h"

namespace genscope::bench {
namespace {

// "base" is {"run", "n", "median"}: what is compared with.
struct BaseOf {
  std::string run;
  std::uint64_t n = 0;
  std::optional<double> median;
};
template <class Io, Of<BaseOf> S>
void fields(Io& io, S& s) {
  io.foreign("run", s.run);
  io("n", s.n);
  io("median", s.median);
}
void base_of(FieldWriting& io, const Comparison& c) {
  const Judgement& j = c.judgement;
  io("base", BaseOf{c.base, j.before_n, j.before});
  io("n", static_cast<std::uint64_t>(j.after_n));
}
void base_of(FieldReading& io, Comparison& c) {
  BaseOf base{c.base, c.judgement.before_n, c.judgement.before};
  std::uint64_t n = c.judgement.after_n;
  io("base", base);
  io("n", n);
  c.base = std::move(base.run);
  c.judgement.before_n = base.n;
  c.judgement.before = base.median;
  c.judgement.after_n = n;
}

template <class Io, class S>
void change_fields(Io& io, S& s) {
  io("name", s.name);
  io("before", s.before);
  io("after", s.after);
  io("difference", s.difference);
  io.interval("ci", "level", s.interval);
  io("share", s.share);
}
// The parts of a part, one level: "steps" and "per step".
struct Inner {
  PartChange change;
};
template <class Io, Of<Inner> S>
void fields(Io& io, S& s) {
  change_fields(io, s.change);
}
void inner(FieldWriting& io, const std::vector<PartChange>& of) {
  std::vector<Inner> parts;
  for (const PartChange& part : of) parts.push_back({part});
  io("of", parts);
}
void inner(FieldReading& io, std::vector<PartChange>& of) {
  std::vector<Inner> parts;
  io("of", parts);
  for (Inner& part : parts) of.push_back(std::move(part.change));
}
}  // namespace

template <class Io, Of<PartChange> S>
void fields(Io& io, S& s) {
  change_fields(io, s);
  inner(io, s.of);
}

namespace {

struct AttributionTotal {
  PartChange total;
  std::vector<std::string> notes;
};
template <class Io, Of<AttributionTotal> S>
void fields(Io& io, S& s) {
  change_fields(io, s.total);
  io("notes", s.notes);
}
void attribution(FieldWriting& io, const std::optional<Attribution>& a) {
  if (!a) return;
  io.always("stage_attribution", a->parts);
  io("stage_total", AttributionTotal{a->total, a->notes});
}
void attribution(FieldReading& io, std::optional<Attribution>& a) {
  std::optional<std::vector<PartChange>> parts;
  std::optional<AttributionTotal> total;
  io("stage_attribution", parts);
  io("stage_total", total);
  if (parts) (a ? *a : a.emplace()).parts = std::move(*parts);
  if (total) {
    if (!a) a.emplace();
    a->total = std::move(total->total);
    a->notes = std::move(total->notes);
  }
}

void pairs(FieldWriting& io, std::size_t n) {
  if (n > 0) io("pairs", static_cast<std::uint64_t>(n));
}
void pairs(FieldReading& io, std::size_t& n) {
  std::uint64_t value = n;
  io("pairs", value);
  n = value;
}

template <class Io, Of<Comparison> S>
void comparison_fields(Io& io, S& s) {
  auto& j = s.judgement;
  io.always("cell", s.cell);
  io.always("metric", s.metric);
  io("gate", s.gate);
  io.choice("verdict", j.verdict, Verdict::slower_machine);
  io("ratio", j.ratio);
  io.interval("ci", "level", j.interval);
  io("reason", j.reason);
  base_of(io, s);
  io("median", j.after);
  io.choice("method", j.method, JudgeMethod::student);
  pairs(io, j.pairs);
  io("pair_correlation", j.pair_correlation);
  io("difference", j.difference);
  io.interval("difference_ci", "difference_level", j.difference_interval);
  io("confidence", j.confidence);
  io("p", j.p_value);
  io("p_floor", j.p_floor);
  io("p_adj", j.p_adjusted);
  io("q", j.q);
  io("delta", j.floor);
  io.choice("delta_source", j.floor_source, FloorSource::resolution);
  io("mde", j.mde);
  io("runs_needed", j.runs_needed);
  io("cycles_ratio", j.cycles_ratio);
  io("own_time_ratio", j.own_time_ratio);
  io.interval("own_time_ci", "own_time_level", j.own_time_interval);
  io("by_own_time", j.by_own_time);
  io("cpu_explains", j.cpu_explains);
  io("drift_unprotected", j.drift_unprotected);
  attribution(io, s.stage_attribution);
  io("notes", j.notes);
}

struct Limit {
  std::optional<double> max, min;
};
template <class Io, Of<Limit> S>
void fields(Io& io, S& s) {
  io("max", s.max);
  io("min", s.min);
}
void limit(FieldWriting& io, const TargetResult& t) {
  io("limit", Limit{t.limit_max, t.limit_min});
}
void limit(FieldReading& io, TargetResult& t) {
  Limit both{t.limit_max, t.limit_min};
  io("limit", both);
  t.limit_max = both.max;
  t.limit_min = both.min;
}

void target_result(FieldWriting& io, const std::optional<TargetScore>& score) {
  if (!score) return;
  io("score", score->score);
  io("met", score->met);
  io("confident", score->confident);
}
void target_result(FieldReading& io, std::optional<TargetScore>& score) {
  std::optional<double> value;
  std::optional<bool> met, confident;
  io("score", value);
  io("met", met);
  io("confident", confident);
  if ((value || met || confident) && !score) score.emplace();
  if (value) score->score = *value;
  if (met) score->met = *met;
  if (confident) score->confident = *confident;
}

template <class Io, Of<TargetResult> S>
void target_fields(Io& io, S& s) {
  io("cell", s.cell);
  io.always("metric", s.metric);
  io("stat", s.stat);
  limit(io, s);
  io("value", s.value);
  io.interval("ci", "level", s.ci);
  target_result(io, s.score);
  io("weight", s.weight);
  io("absent", s.absent);
}

}  // namespace

template <class Io, Of<QualityPair> S>
void fields(Io& io, S& s) {
  io("cell", s.cell);
  io("prompt", s.prompt);
  io("seed", s.seed);
  io("same_bytes", s.same_bytes);
  io("psnr_db", s.psnr_db);
  io("ssim", s.ssim);
  io("before", s.before);
  io("after", s.after);
  io.foreign("absent", s.absent);
}

namespace {

template <class Io, Of<QualityResult> S>
void quality_fields(Io& io, S& s) {
  io("verdict", s.verdict);
  io("reason", s.reason);
  io.always("pairs", s.pairs);
}

template <class Io, Of<LoadResultSummary> S>
void load_fields(Io& io, S& s) {
  io("cell", s.cell);
  io("unit", s.unit);
  io("scenario", s.scenario);
  io("offered", s.offered_per_s);
  io("achieved", s.achieved_per_s);
  io("requests", s.requests);
  io("failed", s.failed);
  io("max_failed", s.max_failed);
  io("failures", s.failures);
  io("percentiles_from_arrival", s.from_arrival_s);
  io("service_only", s.service_s);
  io("metrics", s.metrics);
  io("schedule_delay", s.schedule_delay_s);
  io("slo_s", s.slo_s);
  io("slo_percentile", s.slo_percentile);
  io("slo_attainment", s.slo_attainment);
  io("slo_verdict", s.slo_verdict);
  io("goodput", s.goodput_per_s);
  io("min_goodput", s.min_goodput_per_s);
  io("peak", s.peak_per_s);
  io("refused", s.refused);
  io("notes", s.notes);
}

}  // namespace

void fields(FieldWriting& io, const Comparison& comparison) { comparison_fields(io, comparison); }
void fields(FieldReading& io, Comparison& comparison) { comparison_fields(io, comparison); }
void fields(FieldWriting& io, const TargetResult& target) { target_fields(io, target); }
void fields(FieldReading& io, TargetResult& target) { target_fields(io, target); }
void fields(FieldWriting& io, const QualityResult& quality) { quality_fields(io, quality); }
void fields(FieldReading& io, QualityResult& quality) { quality_fields(io, quality); }
void fields(FieldWriting& io, const LoadResultSummary& load) { load_fields(io, load); }
void fields(FieldReading& io, LoadResultSummary& load) { load_fields(io, load); }

std::string load_to_json(const LoadResultSummary& load) {
  std::string out;
  JsonWriter writer(out);
  FieldWriting(writer, true).object(load);
  return out;
}

Result<LoadResultSummary> load_from_json(std::string_view text, std::string_view name) {
  JsonReader in(text, name);
  LoadResultSummary load;
  FieldReading(in).object(load);
  in.finish();
  if (in.error()) return *in.error();
  return load;
}

}  // namespace genscope::bench

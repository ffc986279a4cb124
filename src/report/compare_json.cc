// `genscope.compare/2`. Every key is described in docs/compare.md and docs/compare.schema.json; a
// change here is a change there.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <genscope/report.h>

#include "report/compare_tables.h"
#include "report/json_values.h"

namespace genscope {
namespace {

using report::Json;
using report::or_null;

Json side_json(const std::vector<ComparedRun>& runs) {
  Json out = Json::array();
  for (const ComparedRun& run : runs) {
    out.push_back({{"name", report::text_or_null(run.name)},
                   {"id", report::text_or_null(run.id)},
                   {"path", report::text_or_null(run.path)},
                   {"total_ns", or_null(run.total_ns)}});
  }
  return {{"runs", std::move(out)}};
}

Json interval_json(const std::optional<stats::Interval>& interval) {
  if (!interval) return nullptr;
  return {{"low", interval->low}, {"high", interval->high}, {"confidence", interval->confidence}};
}

Json part_json(const PartChange& part) {
  Json out = {{"name", part.name},
              {"before", part.before},
              {"after", part.after},
              {"difference", part.difference},
              {"interval", interval_json(part.interval)},
              {"share", or_null(part.share)},
              {"of", Json::array()}};
  for (const PartChange& of : part.of) out["of"].push_back(part_json(of));
  return out;
}

Json attribution_json(const std::optional<Attribution>& attribution) {
  if (!attribution) return nullptr;
  Json parts = Json::array();
  for (const PartChange& part : attribution->parts) parts.push_back(part_json(part));
  return {{"total", part_json(attribution->total)},
          {"parts", std::move(parts)},
          {"notes", attribution->notes}};
}

// What the verdict of the total rests on.
Json total_json(const Comparison& comparison) {
  const Judgement& j = comparison.judgement;
  return {{"figure", comparison.total},
          {"before_ns", or_null(j.before)},
          {"after_ns", or_null(j.after)},
          {"before_runs", j.before_n},
          {"after_runs", j.after_n},
          {"ratio", or_null(j.ratio)},
          {"interval", interval_json(j.interval)},
          {"method", name(j.method)},
          {"floor", j.floor},
          {"mde", or_null(j.mde)},
          {"p_value", or_null(j.p_value)},
          {"runs_needed", or_null(j.runs_needed)},
          {"own_time_ratio", or_null(j.own_time_ratio)},
          {"cpu_explains", or_null(j.cpu_explains)},
          {"paired", j.pairs > 0},
          {"interleaved", comparison.interleaved},
          {"reason", j.reason}};
}

Json differences_json(const std::vector<Difference>& list) {
  Json out = Json::array();
  for (const Difference& difference : list) {
    out.push_back({{"key", difference.key},
                   {"before", or_null(difference.before)},
                   {"after", or_null(difference.after)},
                   {"decisive", difference.decisive}});
  }
  return out;
}

Json rows_json(const Comparison& comparison) {
  Json out = Json::array();
  for (const ChangeRow& row : comparison.rows) {
    out.push_back(
        {{"name", row.name},
         {"kind", row.kind},
         {"unit", row.unit},
         {"before", or_null(row.before)},
         {"after", or_null(row.after)},
         {"before_runs", row.before_runs},
         {"after_runs", row.after_runs},
         {"before_count", row.before_count},
         {"after_count", row.after_count},
         {"percent", or_null(row.percent)},
         {"factor", or_null(row.factor)},
         {"factor_low", or_null(row.factor_low)},
         {"factor_high", or_null(row.factor_high)},
         {"interval_over",
          row.interval_over == IntervalOver::none ? Json(nullptr) : Json(name(row.interval_over))},
         {"verdict", row_verdict(row)},
         {"reason", row.judgement.reason},
         {"mde", or_null(row.judgement.mde)},
         {"p_value", or_null(row.judgement.p_value)},
         {"p_adjusted", or_null(row.judgement.p_adjusted)}});
  }
  return out;
}

// The names of generation monitors.
Json before_after_json(const BeforeAfter& b) {
  Json score_change = nullptr;
  if (b.before_score && b.after_score) score_change = *b.after_score - *b.before_score;
  return {{"before",
           {{"total_time", or_null(b.before_seconds)},
            {"per_step_time", or_null(b.before_step_seconds)},
            {"target_met", or_null(b.before_target_met)},
            {"performance_score", or_null(b.before_score)},
            {"model", or_null(b.before_model)}}},
          {"after",
           {{"total_time", or_null(b.after_seconds)},
            {"per_step_time", or_null(b.after_step_seconds)},
            {"target_met", or_null(b.after_target_met)},
            {"performance_score", or_null(b.after_score)},
            {"model", or_null(b.after_model)}}},
          {"improvement",
           {{"total_time_percent", or_null(b.total_time_percent)},
            {"per_step_time_percent", or_null(b.per_step_time_percent)},
            {"performance_score_change", std::move(score_change)},
            {"target_status_change", or_null(b.target_status_change)}}},
          {"summary",
           {{"faster", or_null(b.faster)},
            {"improvement_factor", or_null(b.improvement_factor)},
            {"meets_target_now", or_null(b.meets_target_now)},
            {"significant_improvement", or_null(b.significant_improvement)}}},
          {"note", "these are figures, medians of the runs; `verdict` is the judgement"}};
}

// The reason for whatever may be null, where something is.
Json absent_json(const Comparison& comparison, bool compared) {
  Json out = Json::object();
  if (!compared) {
    out["before_after"] = out["total"] = out["attribution"] =
        "the two cannot be compared; --force compares them";
    return out;
  }
  for (const ChangeRow& row : comparison.rows) {
    if (!row.before)
      out["rows.before"] =
          "null where the first side has no finished span of it, or no probe that tells it";
    if (!row.after)
      out["rows.after"] =
          "null where the second side has no finished span of it, or no probe that tells it";
    if (!row.factor) {
      out["rows.factor"] = "null, as is percent, where a side has no value, or a value of 0";
    }
    if (!row.factor_low) {
      out["rows.factor_low"] =
          "null, as is factor_high, where runs, or of one run each its spans, are too few for 95 %";
    }
    if (!row.judgement.mde) {
      out["rows.mde"] = "null, as are the p-values, without an interval over runs";
    }
  }
  const Judgement& total = comparison.judgement;
  if (!total.interval) out["total.interval"] = "null, as are mde and p_value: " + total.reason;
  if (!total.runs_needed) out["total.runs_needed"] = "only of an inconclusive verdict";
  if (!total.own_time_ratio) {
    out["total.own_time_ratio"] =
        "a run does not say how long it waited for a CPU, or the runs are too few";
  }
  if (!total.cpu_explains) {
    out["total.cpu_explains"] = "only of one run each whose CPU time is known";
  }
  if (!comparison.attribution) out["attribution"] = "no stages, or runs without a total time";
  const BeforeAfter& figures = comparison.before_after;
  if (!figures.total_time_percent) {
    out["before_after.improvement.total_time_percent"] = "a run has no generation that finished";
  }
  if (!figures.per_step_time_percent) {
    out["before_after.improvement.per_step_time_percent"] = "a run has no steps that finished";
  }
  if (!figures.before_score || !figures.after_score) {
    out["before_after.before.performance_score"] =
        "null, as is all about targets, without --target or without a generation that finished";
  }
  if (!figures.before_model || !figures.after_model) {
    out["before_after.before.model"] = "null where the program does not say its model";
  }
  return out;
}

}  // namespace

void compare_json(const Comparison& comparison, const Sink& sink) {
  constexpr int kIndent = 2;
  const bool compared = comparison.incomparable.empty() || comparison.forced;
  Json out;
  out["schema"] = "genscope.compare/2";
  out["before"] = side_json(comparison.before);
  out["after"] = side_json(comparison.after);
  out["environment"] = differences_json(comparison.environment);
  out["env_changes"] = comparison.env_changes;
  out["workload"] = differences_json(comparison.workload);
  out["other"] = differences_json(comparison.other);
  out["comparable"] = comparison.incomparable.empty();
  out["forced"] = comparison.forced;
  out["incomparable"] = comparison.incomparable;
  out["notes"] = comparison.notes;
  out["noise_floor"] = comparison.noise_floor;
  out["rows"] = rows_json(comparison);
  out["rows_left_out"] = comparison.rows_left_out;
  out["verdict"] = name(comparison.judgement.verdict);
  out["headline"] = comparison.headline;
  out["total"] = compared ? total_json(comparison) : Json(nullptr);
  out["attribution"] = attribution_json(comparison.attribution);
  out["before_after"] = compared ? before_after_json(comparison.before_after) : Json(nullptr);
  out["absent"] = absent_json(comparison, compared);
  // Names are any bytes: what is not UTF-8 becomes U+FFFD.
  sink(out.dump(kIndent, ' ', false, Json::error_handler_t::replace));
  sink("\n");
}

}  // namespace genscope

// `genscope.compare/1`. Every key is described in docs/compare.md and docs/compare.schema.json; a
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

Json run_json(const ComparedRun& run) {
  const auto text = [](const std::string& t) { return t.empty() ? Json(nullptr) : Json(t); };
  return {{"name", text(run.name)}, {"id", text(run.id)}, {"path", text(run.path)}};
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
    out.push_back({{"name", row.name},
                   {"kind", row.kind},
                   {"unit", row.unit},
                   {"before", or_null(row.before)},
                   {"after", or_null(row.after)},
                   {"before_count", row.before_count},
                   {"after_count", row.after_count},
                   {"percent", or_null(row.percent)},
                   {"factor", or_null(row.factor)},
                   {"factor_low", or_null(row.factor_low)},
                   {"factor_high", or_null(row.factor_high)},
                   {"change", name(row.change)}});
  }
  return out;
}

// Document 000's names.
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
          {"note", "one run each: these are figures, `verdict` is the judgement"}};
}

// The reason for whatever may be null, where something is.
Json absent_json(const Comparison& comparison, bool compared) {
  Json out = Json::object();
  if (!compared) {
    out["before_after"] = out["verdict"] = "the two cannot be compared; --force compares them";
    return out;
  }
  for (const ChangeRow& row : comparison.rows) {
    if (!row.before)
      out["rows.before"] =
          "null where the first run has no finished span of it, or no probe that tells it";
    if (!row.after)
      out["rows.after"] =
          "null where the second run has no finished span of it, or no probe that tells it";
    if (!row.factor) {
      out["rows.factor"] = "null, as is percent, where a run has no value, or a value of 0";
    }
    if (!row.factor_low) {
      out["rows.factor_low"] =
          "null, as is factor_high, where the spans are too few for 95 %: 4 against 4 are needed";
    }
  }
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
  out["schema"] = "genscope.compare/1";
  out["before"] = run_json(comparison.before);
  out["after"] = run_json(comparison.after);
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
  out["verdict"] = compared ? Json(name(comparison.verdict)) : Json(nullptr);
  out["reason"] = comparison.reason;
  out["before_after"] = compared ? before_after_json(comparison.before_after) : Json(nullptr);
  out["absent"] = absent_json(comparison, compared);
  // Names are any bytes: what is not UTF-8 becomes U+FFFD.
  sink(out.dump(kIndent, ' ', false, Json::error_handler_t::replace));
  sink("\n");
}

}  // namespace genscope

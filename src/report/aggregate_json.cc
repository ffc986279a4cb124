// `genscope.aggregate/1`; docs/aggregate.md describes it.
#include <nlohmann/json.hpp>

#include <genscope/report.h>

#include "report/json_values.h"

namespace genscope {
namespace {

using report::Json;
using report::or_null;

Json across_json(const std::vector<AcrossRanks>& rows) {
  Json out = Json::array();
  for (const AcrossRanks& row : rows) {
    out.push_back({{"name", row.name},
                   {"ranks", row.ranks},
                   {"min", row.min},
                   {"median", row.median},
                   {"max", row.max},
                   {"mean", row.mean},
                   {"skew", row.skew},
                   {"exact", row.exact},
                   {"min_rank", row.min_rank},
                   {"max_rank", row.max_rank}});
  }
  return out;
}

Json stragglers_json(const Aggregate& aggregate) {
  Json out = Json::array();
  for (const Straggler& one : aggregate.stragglers) {
    out.push_back({{"rank", one.rank},
                   {"role", one.role},
                   {"value_seconds", one.value},
                   {"median_seconds", one.median},
                   {"why", one.why}});
  }
  return out;
}

Json clocks_json(const Aggregate& aggregate) {
  Json out = Json::array();
  for (const ClockOffset& clock : aggregate.clocks) {
    out.push_back({{"rank", clock.rank},
                   {"offset_seconds", clock.offset_seconds},
                   {"error_seconds", or_null(clock.error_seconds)},
                   {"method", clock.method},
                   {"meetings", clock.meetings}});
  }
  return out;
}

Json row_json(const RankFigures& row) {
  Json figures = Json::object();
  for (const auto& [name, value] : row.figures) figures[name] = value;
  return {{"label", row.label},
          {"rank", or_null(row.rank)},
          {"world_size", or_null(row.world_size)},
          {"source", row.source},
          {"run", row.run},
          {"name", row.name},
          {"host", row.host.empty() ? Json(nullptr) : Json(row.host)},
          {"exit_code", or_null(row.exit_code)},
          {"failed_spans", row.failed_spans},
          {"closed", row.closed},
          {"running", row.running},
          {"begin_unix_ns", or_null(row.begin_unix_ns)},
          {"wall_ns", row.wall_ns},
          {"steps", or_null(row.steps)},
          {"step_p50_seconds", or_null(row.step_p50_seconds)},
          {"collectives", row.collectives},
          {"collective_seconds", or_null(row.collective_seconds)},
          {"input_seconds", or_null(row.input_seconds)},
          {"figures", std::move(figures)}};
}

}  // namespace

void aggregate_json(const Aggregate& aggregate, const Sink& sink) {
  constexpr int kIndent = 2;
  Json out;
  out["schema"] = "genscope.aggregate/1";
  out["ranks"] = aggregate.ranks;
  out["runs"] = aggregate.runs;
  out["world_size"] = or_null(aggregate.world_size);
  out["missing"] = aggregate.missing;
  out["missing_count"] = aggregate.missing_count;
  out["failed"] = aggregate.failed;
  out["unread"] = aggregate.unread;
  out["duplicate"] = aggregate.duplicate;
  out["notes"] = aggregate.notes;
  out["stages"] = across_json(aggregate.stages);
  out["figures"] = across_json(aggregate.figures);
  out["stragglers"] = stragglers_json(aggregate);
  out["clock_reference"] =
      aggregate.clock_reference.empty() ? Json(nullptr) : Json(aggregate.clock_reference);
  out["clocks"] = clocks_json(aggregate);
  out["rows"] = Json::array();
  for (const RankFigures& row : aggregate.rows) out["rows"].push_back(row_json(row));
  // Names and paths are any bytes: what is not UTF-8 becomes U+FFFD.
  sink(out.dump(kIndent, ' ', false, Json::error_handler_t::replace));
  sink("\n");
}

}  // namespace genscope

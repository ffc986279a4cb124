#include <nlohmann/json.hpp>

#include <genscope/version.h>

#include "cli/doctor/findings.h"

namespace genscope::cli::doctor {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }

Json probe_json(const ProbeFinding& probe) {
  const ProbeReport& report = probe.report;
  Json cpu = Json::object();
  for (std::size_t i = 0; i < kTiers; ++i) {
    const std::int64_t ns = report.tier_cpu_ns[i];
    cpu[std::string(name(static_cast<Tier>(i)))] = ns > 0 ? Json(ns) : Json();
  }
  const double share = core_ratio(report);
  return {{"name", report.name},
          {"summary", probe.summary},
          {"state", name(report.state.kind)},
          {"reason", text_or_null(report.state.reason)},
          {"remedy", text_or_null(report.state.remedy)},
          {"in_child", probe.in_child},
          {"entities", report.entities},
          {"series", report.series},
          {"open_ns", report.open_ns},
          {"sample_cpu_ns", std::move(cpu)},
          {"core_ratio", share > 0 ? Json(share) : Json()}};
}

Json entity_json(const Entity& entity) {
  Json facts = Json::object();
  for (const auto& [fact, value] : entity.facts) facts[fact] = value;
  return {{"kind", name(entity.kind)},
          {"id", entity.id},
          {"name", entity.name},
          {"facts", std::move(facts)}};
}

Json series_json(const Snapshot& snapshot, const Snapshot::Series& series) {
  const bool known = series.entity < snapshot.entities.size();
  const char* reason = series.reading.reason;
  return {{"entity", known ? Json(snapshot.entities[series.entity].id) : Json()},
          {"metric", series.metric->id},
          {"unit", series.metric->unit},
          {"tier", name(series.tier)},
          {"source", series.source},
          {"status", name(series.reading.status)},
          {"reason", reason == nullptr ? Json() : Json(reason)}};
}

}  // namespace

std::string findings_json(const Findings& findings) {
  Json document = {{"schema", "genscope.doctor/1"}, {"version", GENSCOPE_VERSION_STRING}};
  document["probes"] = Json::array();
  document["entities"] = Json::array();
  document["series"] = Json::array();
  for (const ProbeFinding& probe : findings.probes) {
    document["probes"].push_back(probe_json(probe));
  }
  for (const Entity& entity : findings.snapshot.entities) {
    document["entities"].push_back(entity_json(entity));
  }
  for (const Snapshot::Series& series : findings.snapshot.series) {
    if (series.metric == nullptr) continue;
    document["series"].push_back(series_json(findings.snapshot, series));
  }
  document["python"] = {{"state", findings.python ? "broken" : "works"}};
  if (findings.python) {
    document["python"]["reason"] = findings.python->reason;
    document["python"]["remedy"] = findings.python->remedy;
  }
  const double children = children_core_ratio(findings.snapshot);
  document["children_core_ratio"] = children > 0 ? Json(children) : Json();
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace genscope::cli::doctor

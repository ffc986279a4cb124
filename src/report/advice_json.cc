#include "report/json_sections.h"

#include <string>

#include <genscope/report.h>

namespace genscope {
namespace report {
namespace {

Json value_json(const FactValue& value) {
  return std::visit([](const auto& known) { return Json(known); }, value);
}

Json finding_json(const Finding& finding) {
  const Rule& rule = finding.rule;
  Json evidence = Json::object(), texts = Json::object();
  for (const auto& [fact, value] : finding.evidence) {
    evidence[fact] = value_json(value);
    texts[fact] = fact_text(fact, value);
  }
  const bool range = rule.gain_high > 0;
  Json out;
  out["rule"] = rule.id;
  out["severity"] = name(rule.severity);
  out["title"] = rule.title;
  out["evidence"] = std::move(evidence);
  out["evidence_text"] = std::move(texts);
  out["advice"] = finding.advice;
  out["gain"] = rule.gain.empty() ? Json(nullptr) : Json(rule.gain);
  out["gain_low"] = range ? Json(rule.gain_low) : Json(nullptr);
  out["gain_high"] = range ? Json(rule.gain_high) : Json(nullptr);
  out["most_share"] = finding.most_share ? Json(*finding.most_share) : Json(nullptr);
  out["confidence"] = name(rule.confidence);
  out["source"] = rule.citation;
  return out;
}

Json abstained_json(const Advice& advice) {
  Json out = Json::array();
  for (const Abstention& one : advice.abstained) {
    Json missing = Json::array();
    for (const auto& [fact, reason] : one.missing) {
      missing.push_back({{"fact", fact}, {"reason", reason}});
    }
    out.push_back({{"rule", one.rule}, {"missing", std::move(missing)}});
  }
  return out;
}

}  // namespace

Json findings_json(const Advice& advice) {
  Json out = Json::array();
  for (const Finding& finding : advice.findings) out.push_back(finding_json(finding));
  return out;
}

}  // namespace report

void advice_json(const Advice& advice, bool all, const Sink& sink) {
  using report::Json;
  constexpr int kIndent = 2;
  Json out;
  out["schema"] = "genscope.advice/1";
  out["findings"] = report::findings_json(advice);
  out["counts"] = {{"fired", advice.findings.size()},
                   {"abstained", advice.abstained.size()},
                   {"silent", advice.silent.size()},
                   {"silenced", advice.silenced.size()}};
  if (all) {
    out["abstained"] = report::abstained_json(advice);
    out["silent"] = advice.silent;
    out["silenced"] = advice.silenced;
  }
  // Texts of facts are any bytes: what is not UTF-8 becomes U+FFFD.
  sink(out.dump(kIndent, ' ', false, Json::error_handler_t::replace));
  sink("\n");
}

}  // namespace genscope

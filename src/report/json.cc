// `genscope.report/1`. Every key is described in docs/report-json.md and docs/report.schema.json;
// a change here is a change there.
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include <genscope/report.h>

#include "analyze/settings.h"
#include "report/clocks_text.h"
#include "report/format.h"
#include "report/json_sections.h"
#include "report/json_values.h"
#include "report/stacks.h"

namespace genscope {
namespace {

using report::Json;
using report::or_null;
using report::text_or_null;

// Builds the report and, beside it, the reason for whatever is null in it.
class JsonReport {
 public:
  JsonReport(const Run& run, const Analysis& analysis, const Advice& advice)
      : run_(run), analysis_(analysis), advice_(advice) {}

  Json make() {
    Json out;
    out["schema"] = "genscope.report/1";
    out["headline"] = headline(run_, analysis_, advice_);
    out["run"] = run();
    out["stages"] = stages();
    out["clocks"] = report::clocks_sentence(analysis_);
    out["steps"] = report::steps_json(analysis_.steps, absent_);
    report::add_generation_json(analysis_, out, absent_);
    const Telemetry& telemetry = analysis_.telemetry;
    out["process"] = report::process_json(analysis_, !run_.traces.empty(), absent_);
    out["gpus"] = report::gpus_json(telemetry, absent_);
    out["system"] = report::system_json(telemetry, absent_);
    out["cgroup"] = report::cgroup_json(telemetry, absent_);
    out["cpu_packages"] = report::cpu_packages_json(telemetry, absent_);
    out["allocators"] = report::allocators_json(telemetry, absent_);
    out["own_metrics"] = report::own_metrics_json(telemetry, absent_);
    out["processes"] = report::processes_json(telemetry);
    out["telemetry_events"] = report::telemetry_events_json(telemetry);
    out["resources"] = report::resources_json(analysis_.resources, absent_);
    if (Json sampled = report::sampled_json(analysis_.sampled); !sampled.is_null()) {
      out["stacks"] = std::move(sampled);
    }
    out["findings"] = report::findings_json(advice_);
    out["threads"] = threads();
    out["counters"] = counters();
    out["recorder"] = recorder();
    out["integrity"] = integrity();
    out["instrument"] = instrument();
    if (Json mixed = settings_that_differ(); !mixed.empty()) {
      out["settings_that_differ"] = std::move(mixed);
    }
    out["absent"] = std::move(absent_);
    return out;
  }

 private:
  static constexpr const char* kNoProbes = "no probe sampled this run";

  Json missing(const char* metric, const char* reason) {
    absent_[metric] = reason;
    return nullptr;
  }

  // `value`, or null with a reason.
  template <class T>
  Json known(bool is_known, const T& value, const char* metric, const char* reason) {
    return is_known ? Json(value) : missing(metric, reason);
  }

  Json run() {
    Json out;
    out["id"] = known(!run_.id.empty(), run_.id, "run.id", "the run has no manifest");
    out["name"] = known(!run_.name.empty(), run_.name, "run.name", "the run was not named");
    out["started"] = known(run_.started_unix_ns != 0, report::rfc3339(run_.started_unix_ns),
                           "run.started", "the run has no manifest");
    out["wall_ns"] = known(!run_.traces.empty(), analysis_.wall_ns, "run.wall_ns",
                           "no process recorded anything");
    out["command"] =
        known(!run_.command.empty(), run_.command, "run.command", "the command was not recorded");
    out["exit_code"] = run_.exit_code ? Json(*run_.exit_code)
                                      : missing("run.exit_code",
                                                "nothing that waited for the command recorded it");
    out["last_words"] = run_.last_words;
    out["host"] = known(!run_.host.empty(), run_.host, "run.host", "the host was not recorded");
    out["processes"] = run_.traces.size();
    std::set<int> ranks;
    for (const Trace& trace : run_.traces) {
      if (trace.process.rank) ranks.insert(*trace.process.rank);
    }
    out["ranks"] = known(!ranks.empty(), ranks.size(), "run.ranks", "not a distributed run");
    out["path"] = run_.path;
    return out;
  }

  Json stages() {
    Json out = Json::array();
    for (const StageRow& r : analysis_.stages) {
      const auto of_finished = [&](const auto& value) {
        return r.count > 0 ? Json(value) : Json(nullptr);
      };
      out.push_back({{"name", r.name},
                     {"kind", name(r.kind)},
                     {"count", r.count},
                     {"total_ns", r.total_ns},
                     {"self_ns", r.self_ns},
                     {"share", analysis_.wall_ns > 0 ? Json(r.share) : Json(nullptr)},
                     {"min_ns", of_finished(r.min_ns)},
                     {"mean_ns", of_finished(r.mean_ns)},
                     {"p50_ns", of_finished(r.p50_ns)},
                     {"p95_ns", of_finished(r.p95_ns)},
                     {"p99_ns", of_finished(r.p99_ns)},
                     {"max_ns", of_finished(r.max_ns)},
                     {"device_ns", or_null(r.device_ns)},
                     {"device_spans", r.device_spans},
                     {"clock", report::clock_name(r)},
                     {"energy_joules", or_null(r.energy_joules)},
                     {"failed", r.failed},
                     {"unfinished", r.unfinished}});
      if (r.folded > 0) out.back()["folded"] = r.folded;
    }
    note_absent_in_stages();
    return out;
  }

  // Per row it would be noise; once for all rows is enough to tell unknown from zero.
  void note_absent_in_stages() {
    bool no_device = false;
    bool no_energy = false;
    bool never_finished = false;
    for (const StageRow& r : analysis_.stages) {
      no_device |= !r.device_ns.has_value();
      no_energy |= !r.energy_joules.has_value();
      never_finished |= r.count == 0;
    }
    if (no_device) absent_["stages.device_ns"] = "null where no span of the row has device time";
    if (no_energy) {
      absent_["stages.energy_joules"] =
          "null without energy readings, and where a row is too short for their rate";
    }
    if (never_finished) {
      absent_["stages.min_ns"] = "null, as are mean, percentiles and max, where no span finished";
    }
    if (!analysis_.stages.empty() && analysis_.wall_ns <= 0) {
      absent_["stages.share"] = "the run has no length";
    }
  }

  Json threads() const {
    Json out = Json::array();
    for (const TrackRow& r : analysis_.tracks) {
      const bool any = r.spans > 0;
      out.push_back({{"pid", r.pid},
                     {"tid", r.tid != 0 ? Json(r.tid) : Json(nullptr)},
                     {"name", text_or_null(r.name)},
                     {"spans", r.spans},
                     {"busy_ns", r.busy_ns},
                     {"first_ns", any ? Json(r.first_ns) : Json(nullptr)},
                     {"last_ns", any ? Json(r.last_ns) : Json(nullptr)},
                     {"dropped_spans", r.dropped_spans},
                     {"dropped_records", r.dropped_records}});
    }
    return out;
  }

  Json counters() const {
    Json out = Json::array();
    for (const CounterRow& c : analysis_.counters) {
      const bool any = c.count > c.not_finite;
      const auto finite = [](double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); };
      const bool one = c.folded == 0;
      out.push_back({{"name", c.name},
                     {"count", c.count},
                     {"not_finite", c.not_finite},
                     {"first", one ? finite(c.first) : Json(nullptr)},
                     {"last", one ? finite(c.last) : Json(nullptr)},
                     {"min", any ? finite(c.min) : Json(nullptr)},
                     {"mean", any ? finite(c.mean) : Json(nullptr)},
                     {"max", any ? finite(c.max) : Json(nullptr)}});
      if (!one) out.back()["folded"] = c.folded;
    }
    return out;
  }

  // Null if nothing was dropped.
  static Json dropped_reason(const RecorderSummary& r) {
    if (!r.stopped.empty()) return r.stopped.front();
    return r.dropped_spans + r.dropped_records > 0 ? Json("buffers were full") : Json(nullptr);
  }

  Json recorder() {
    const RecorderSummary& r = analysis_.recorder;
    Json out;
    out["spans"] = r.spans;
    out["events"] = r.events;
    out["counters"] = r.counters;
    out["dropped"] = r.dropped_spans + r.dropped_records;
    out["dropped_spans"] = r.dropped_spans;
    out["dropped_records"] = r.dropped_records;
    out["dropped_reason"] = dropped_reason(r);
    out["threads"] = r.threads;
    out["bytes"] = r.bytes;
    out["probe_cpu_ns"] =
        r.probe_cpu_ns ? Json(*r.probe_cpu_ns) : missing("recorder.probe_cpu_ns", kNoProbes);
    out["probe_steady_ratio"] =
        r.probe_steady_ratio
            ? Json(*r.probe_steady_ratio)
            : missing("recorder.probe_steady_ratio",
                      r.probe_cpu_ns ? "the sampler read its own clock only once" : kNoProbes);
    return out;
  }

  Json integrity() const {
    Json processes = Json::array();
    for (const Trace& trace : run_.traces) {
      const Integrity& i = trace.integrity;
      processes.push_back({{"pid", trace.process.pid},
                           {"host", text_or_null(trace.process.host)},
                           {"rank", or_null(trace.process.rank)},
                           {"closed", i.closed},
                           {"in_progress", i.in_progress},
                           {"recovered_chunks", i.recovered_chunks},
                           {"bad_frames", i.bad_frames},
                           {"bad_bytes", i.bad_bytes},
                           {"missing_chunks", i.missing_chunks},
                           {"bad_words", i.bad_words},
                           {"unfinished_spans", i.unfinished_spans},
                           {"clamped_ticks", i.clamped_ticks},
                           {"stopped", text_or_null(i.stopped)},
                           {"notes", i.notes}});
    }
    return {{"processes", std::move(processes)}, {"notes", run_.notes}};
  }

  Json instrument() const {
    Json rows = Json::array();
    for (const InstrumentRow& row : analysis_.instrument) {
      rows.push_back({{"target", row.target},
                      {"hooked", row.hooked},
                      {"reason", text_or_null(row.reason)},
                      {"processes", row.processes}});
    }
    return rows;
  }

  Json settings_that_differ() const {
    Json rows = Json::array();
    for (const MixedSetting& mixed : analysis_.settings_that_differ) {
      Json values = Json::array();
      for (const SettingUse& use : mixed.values) {
        values.push_back(
            {{"value", analysis::setting_text(use.value)}, {"requests", use.requests}});
      }
      rows.push_back({{"key", mixed.key}, {"values", std::move(values)}});
    }
    return rows;
  }

  const Run& run_;
  const Analysis& analysis_;
  const Advice& advice_;
  Json absent_ = Json::object();
};

}  // namespace

void report_json(const Run& run, const Analysis& analysis, const Advice& advice, const Sink& sink) {
  constexpr int kIndent = 2;
  // Names are any bytes: what is not UTF-8 becomes U+FFFD.
  sink(JsonReport(run, analysis, advice)
           .make()
           .dump(kIndent, ' ', false, Json::error_handler_t::replace));
  sink("\n");
}

}  // namespace genscope

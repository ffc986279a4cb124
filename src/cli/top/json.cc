#include "cli/top/json.h"

#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "watch/figures.h"

namespace genscope::cli::top {
namespace {

using Json = nlohmann::ordered_json;
using watch::known;

// There in every document, known or not, so that a consumer finds the key.
constexpr std::array<std::string_view, 1> kSystemProbe = {"system"}, kRaplProbe = {"rapl"};
constexpr std::array<const char*, 11> kSystem = {
    "cpu_count",          "cpu_busy_ratio",    "cpu_user_ratio",
    "cpu_system_ratio",   "cpu_iowait_ratio",  "load_1m",
    "memory_total_bytes", "memory_used_bytes", "memory_available_bytes",
    "swap_total_bytes",   "swap_used_bytes"};
constexpr std::array<const char*, 9> kGpu = {
    "memory_total_bytes",  "memory_used_bytes", "busy_ratio",
    "power_watts",         "power_limit_watts", "energy_joules",
    "temperature_celsius", "clock_core_mhz",    "throttle_reasons"};

// An object of values with their reasons. `everywhere` collects the reasons of the document.
class Values {
 public:
  Values(Json& object, Json& everywhere) : object_(object), everywhere_(everywhere) {}
  ~Values() {
    if (!per_second_.empty()) object_["per_second"] = std::move(per_second_);
    object_["absent"] = std::move(absent_);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  void add(std::string_view metric, const Reading& reading) {
    const std::string key(metric);
    if (const std::optional<double> value = known(reading)) {
      object_[key] = number(*value);
    } else {
      add_absent(metric, why(reading));
    }
  }
  void add_rate(std::string_view metric, const Reading& rate) {
    const std::optional<double> value = known(rate);
    per_second_[std::string(metric)] = value ? number(*value) : Json();
  }
  void add_absent(std::string_view metric, const std::string& reason) {
    const std::string key(metric);
    object_[key] = nullptr;
    absent_[key] = reason;
    if (!everywhere_.contains(key)) everywhere_[key] = reason;
  }
  bool has(const char* metric) const { return object_.contains(metric); }

 private:
  // Counts and bytes without a fraction.
  static Json number(double value) {
    constexpr double kExact = 9007199254740992.0;
    if (value >= 0 && value < kExact &&
        value == static_cast<double>(static_cast<std::uint64_t>(value))) {
      return static_cast<std::uint64_t>(value);
    }
    return value;
  }

  Json& object_;
  Json& everywhere_;
  Json per_second_ = Json::object();
  Json absent_ = Json::object();
};

class Document {
 public:
  explicit Document(const Frame& frame) : frame_(frame) {}

  Json make() {
    document_["schema"] = "genscope.top/1";
    document_["unix_ns"] = frame_.unix_ns;
    document_["interval_seconds"] = frame_.interval_seconds;
    document_["watched"] = frame_.watched;
    system();
    for (const char* list : {"cgroups", "cpu_packages", "trees"}) document_[list] = Json::array();
    document_["processes"] = processes();
    document_["gpus"] = Json::array();
    entities();
    if (frame_.run) document_["run"] = run();
    document_["probes"] = probes();
    if (document_["gpus"].empty()) explain_missing(kGpu, gpu_probes());
    if (document_["cpu_packages"].empty()) {
      explain_missing(std::array<const char*, 1>{"energy_joules"}, kRaplProbe);
    }
    document_["absent"] = std::move(absent_);
    return std::move(document_);
  }

 private:
  // Why a probe gives nothing; empty if it works or is not there.
  std::string reason_of(std::string_view probe) const {
    for (const ProbeReport& report : frame_.probes) {
      if (report.name != probe || report.state.kind == ProbeState::Kind::works) continue;
      return report.name + ": " +
             (report.state.reason.empty() ? std::string(name(report.state.kind))
                                          : report.state.reason);
    }
    return "";
  }

  std::string reasons(std::span<const std::string_view> probes) const {
    std::string all;
    for (const std::string_view probe : probes) {
      const std::string one = reason_of(probe);
      if (!one.empty()) all += (all.empty() ? "" : "; ") + one;
    }
    return all.empty() ? "no probe reads it here" : all;
  }

  void explain_missing(std::span<const char* const> metrics,
                       std::span<const std::string_view> probes) {
    for (const char* metric : metrics) {
      if (!absent_.contains(metric)) absent_[metric] = reasons(probes);
    }
  }

  void fill(std::uint32_t entity, Values& values) const {
    for (const Snapshot::Series& series : frame_.snapshot.series) {
      if (series.entity != entity || series.metric == nullptr) continue;
      values.add(series.metric->id, series.reading);
      if (series.metric->kind == MetricKind::counter) {
        values.add_rate(series.metric->id, series.rate);
      }
    }
  }

  void system() {
    Json system = Json::object();
    const auto machine = watch::first_of(frame_.snapshot, EntityKind::machine);
    system["host"] = machine ? Json(frame_.snapshot.entities[*machine].name) : Json();
    {
      Values values(system, absent_);
      if (machine) fill(*machine, values);
      for (const char* metric : kSystem) {
        if (!values.has(metric)) values.add_absent(metric, reasons(kSystemProbe));
      }
    }
    document_["system"] = std::move(system);
  }

  Json entity(std::uint32_t index, std::span<const char* const> always) {
    const Entity& what = frame_.snapshot.entities[index];
    Json object = {{"id", what.id}, {"name", what.name}, {"kind", name(what.kind)}};
    for (const auto& [fact, value] : what.facts) {
      if (!object.contains(fact)) object[fact] = value;
    }
    {
      Values values(object, absent_);
      fill(index, values);
      for (const char* metric : always) {
        if (!values.has(metric)) values.add_absent(metric, "no probe reads it here");
      }
    }
    return object;
  }

  void entities() {
    for (std::uint32_t i = 0; i < frame_.snapshot.entities.size(); ++i) {
      switch (frame_.snapshot.entities[i].kind) {
        case EntityKind::gpu:
        case EntityKind::gpu_instance:
          document_["gpus"].push_back(entity(i, kGpu));
          break;
        case EntityKind::cgroup:
          document_["cgroups"].push_back(entity(i, {}));
          break;
        case EntityKind::cpu_package:
          document_["cpu_packages"].push_back(entity(i, {}));
          break;
        case EntityKind::process_tree:
          document_["trees"].push_back(entity(i, {}));
          break;
        default:
          break;  // the machine is `system`
      }
    }
  }

  Json processes() {
    Json list = Json::array();
    Json nowhere = Json::object();  // one process without a GPU is not the document's loss
    for (const ProcessLine& line : frame_.processes) {
      Json object = {{"pid", line.row.pid},
                     {"parent", line.row.parent},
                     {"name", line.row.name},
                     {"in_tree", line.in_tree},
                     {"visible", line.row.visible}};
      {
        Values values(object, nowhere);
        values.add("cpu_cores", line.cpu_cores);
        values.add("cpu_ns", line.row.cpu_ns);
        values.add("rss_bytes", line.row.rss_bytes);
        values.add("gpu_memory_bytes", line.row.gpu_memory_bytes);
        values.add("gpu_busy_ratio", line.row.gpu_busy_ratio);
      }
      list.push_back(std::move(object));
    }
    return list;
  }

  Json run() const {
    Json list = Json::array();
    const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
    const auto text_or_null = [](const std::string& text) {
      return text.empty() ? Json() : Json(text);
    };
    for (const Progress::Process& process : frame_.run->progress.processes) {
      const bool had_stage = !process.last_stage.empty();
      list.push_back({{"pid", process.pid},
                      {"alive", process.alive},
                      {"stage", text_or_null(process.stage)},
                      {"steps_done", process.steps_done},
                      {"steps_total", or_null(process.steps_total)},
                      {"step_seconds", or_null(process.step_seconds)},
                      {"eta_seconds", or_null(process.eta_seconds)},
                      {"last_stage", text_or_null(process.last_stage)},
                      {"last_stage_seconds", had_stage ? Json(process.last_stage_seconds) : Json()},
                      {"dropped_spans", process.dropped_spans}});
    }
    return {{"path", frame_.run->path}, {"processes", std::move(list)}};
  }

  Json probes() const {
    Json list = Json::array();
    for (const ProbeReport& report : frame_.probes) {
      Json object = {{"name", report.name}, {"state", name(report.state.kind)}};
      if (!report.state.reason.empty()) object["reason"] = report.state.reason;
      if (!report.state.remedy.empty()) object["remedy"] = report.state.remedy;
      list.push_back(std::move(object));
    }
    return list;
  }

  const Frame& frame_;
  Json document_ = Json::object();
  Json absent_ = Json::object();
};

}  // namespace

std::string frame_json(const Frame& frame) {
  return Document(frame).make().dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace genscope::cli::top

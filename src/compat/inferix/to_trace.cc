// An Inferix report as a Trace: only what can be converted honestly. The session is a span, samples
// are counters, events are events. Totals of stages are not spans (when they ran is not in the
// report): each becomes an event "inferix_stage" with its figures.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>

#include "compat/inferix/json_block.h"
#include "genscope/compat/inferix.h"
#include "genscope/version.h"
#include "store/import/interner.h"

namespace genscope {
namespace compat::inferix {

using store::Interner;
using store::JsonType;
namespace {

constexpr std::size_t kMaxText = 512;  // what a trace file keeps of one

// What the recorders of Inferix are called in events of ours.
struct Renamed {
  std::string_view event, key, ours;
};
constexpr Renamed kRenamed[] = {
    {"diffusion_step", "computation_time_ms", "ms"},
    {"block_computation", "block_index", "index"},
    {"block_computation", "computation_time_ms", "ms"},
    {"block_computation", "memory_usage_mb", "memory_mb"},
    {"model_parameters", "model_name", "name"},
    {"model_parameters", "parameters_count", "parameters"},
    {"model_parameters", "model_type", "type"},
};

class Builder {
 public:
  explicit Builder(const InferixReport& report) : report_(report) {
    trace_.tracks.push_back({"Inferix session", 0, 0, 0});
    begin_ = report.begin_seconds.value_or(first_moment());
  }

  Imported make() {
    session();
    for (const InferixReport::Stage& one : report_.stages) stage(one);
    for (const InferixReport::Event& one : report_.events) event(one);
    for (const InferixReport::GpuSample& s : report_.gpu) {
      counter("gpu_memory_used_bytes", s.at_seconds, s.memory_used_bytes);
      counter("gpu_busy_ratio", s.at_seconds, s.busy_ratio);
      counter("gpu_temperature_celsius", s.at_seconds, s.temperature_celsius);
      counter("gpu_power_watts", s.at_seconds, s.power_watts);
    }
    for (const InferixReport::CpuSample& s : report_.cpu) {
      counter("machine_cpu_busy_ratio", s.at_seconds, s.busy_ratio);
      counter("machine_memory_used_bytes", s.at_seconds, s.memory_used_bytes);
    }
    describe();
    Imported out;
    out.summary.events = trace_.events.size() + trace_.counters.size();
    out.summary.malformed = far_;
    out.trace = std::move(trace_);
    return out;
  }

 private:
  double first_moment() const {
    double first = 0;
    const auto take = [&](double at) { first = first == 0 ? at : std::min(first, at); };
    for (const auto& event : report_.events) take(event.at_seconds);
    for (const auto& sample : report_.gpu) take(sample.at_seconds);
    return first;
  }

  // Nanoseconds since the begin; nothing for what is more than a year off.
  std::optional<std::int64_t> at_ns(double at_seconds) {
    constexpr double kYear = 366.0 * 86400;
    const double since = at_seconds - begin_;
    if (!(std::abs(since) < kYear)) {
      ++far_;
      return std::nullopt;
    }
    const auto ns = std::llround(std::max(since, 0.0) * 1e9);
    trace_.end_ns = std::max<std::int64_t>(trace_.end_ns, ns);
    return ns;
  }

  std::uint32_t name(std::string_view text, SpanKind kind = SpanKind::none) {
    const std::uint32_t number = names_.of(text);
    if (number == trace_.names.size()) trace_.names.push_back({std::string(text), kind});
    return number;
  }

  void session() {
    const double length = report_.duration_seconds.value_or(0);
    const std::optional<std::int64_t> end = at_ns(begin_ + length);
    if (!end) return;
    SpanColumns& s = trace_.spans;
    s.begin_ns.push_back(0);
    s.duration_ns.push_back(*end);
    s.name.push_back(
        name(report_.session.empty() ? "session" : report_.session, SpanKind::session));
    s.track.push_back(0);
    s.parent.push_back(kNone);
    const bool ended = report_.end_seconds || report_.duration_seconds;
    s.flags.push_back(ended ? 0 : kSpanUnfinished);
    for (const auto& [key, value] : report_.tags) text(trace_.span_args, 0, key, value);
  }

  std::uint32_t add_event(std::string_view text, std::int64_t at) {
    EventColumns& e = trace_.events;
    e.at_ns.push_back(at);
    e.name.push_back(name(text));
    e.track.push_back(0);
    e.span.push_back(kNone);
    return static_cast<std::uint32_t>(e.size() - 1);
  }

  void argument(ArgColumns& args, std::uint32_t owner, std::string_view key, ArgType type,
                std::uint64_t bits) {
    args.owner.push_back(owner);
    args.key.push_back(name(key));
    args.type.push_back(type);
    args.bits.push_back(bits);
  }
  void number(std::uint32_t event, std::string_view key, const std::optional<double>& value) {
    if (!value) return;
    argument(trace_.event_args, event, key, ArgType::float64, std::bit_cast<std::uint64_t>(*value));
  }
  void text(ArgColumns& args, std::uint32_t owner, std::string_view key, std::string_view value) {
    argument(args, owner, key, ArgType::text, trace_.texts.size());
    trace_.texts.emplace_back(value.substr(0, kMaxText));
  }

  void stage(const InferixReport::Stage& stage) {
    const std::uint32_t event = add_event("inferix_stage", 0);
    text(trace_.event_args, event, "name", stage.name);
    number(event, "total_seconds", stage.total_seconds);
    number(event, "calls", static_cast<double>(stage.calls));
    number(event, "min_seconds", stage.min_seconds);
    number(event, "max_seconds", stage.max_seconds);
  }

  void event(const InferixReport::Event& one) {
    const std::optional<std::int64_t> at = at_ns(one.at_seconds);
    if (!at) return;
    const std::uint32_t event =
        add_event(one.name == "block_computation" ? "block" : one.name, *at);
    const Result<JsonBlock> data = JsonBlock::parse(one.data, "data");
    if (!data.ok() || data->type() != JsonType::object) return;
    const auto member = [&](std::string_view key, const JsonBlock& value) -> Status {
      for (const Renamed& row : kRenamed) {
        if (row.event == one.name && row.key == key) key = row.ours;
      }
      std::optional<double> figure;
      if (value.type() == JsonType::number && value.number(figure).ok()) {
        number(event, key, figure);
      } else if (value.type() == JsonType::boolean) {
        argument(trace_.event_args, event, key, ArgType::boolean, value.bytes() == "true" ? 1 : 0);
      } else if (value.type() != JsonType::null) {
        text(trace_.event_args, event, key, value.text());
      }
      return Done{};
    };
    // Damage cannot be: the bytes were read as JSON before.
    (void)data->members(member);
  }

  void counter(std::string_view metric, double at_seconds, const std::optional<double>& value) {
    if (!value) return;
    const std::optional<std::int64_t> at = at_ns(at_seconds);
    if (!at) return;
    CounterColumns& c = trace_.counters;
    c.at_ns.push_back(*at);
    c.name.push_back(name(metric));
    c.track.push_back(0);
    c.value.push_back(*value);
  }

  void describe() {
    ProcessInfo& p = trace_.process;
    // The same report is the same process, and no other's clock is its.
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : report_.session + "/" + std::to_string(begin_)) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    p.trace_id =
        fmt::format("{:016x}{:016x}", hash, static_cast<unsigned>(report_.rank.value_or(0)));
    p.boot_id = "imported-" + p.trace_id;
    p.version = GENSCOPE_VERSION_STRING;
    p.clock = "imported";
    p.rank = report_.rank;
    p.world_size = report_.world_size;
    constexpr double kMaxSeconds = 9e9;
    if (begin_ > 0 && begin_ < kMaxSeconds) p.unix_offset_ns = std::llround(begin_ * 1e9);
    trace_.integrity.closed = true;
    trace_.integrity.notes = report_.notes;
    trace_.integrity.notes.push_back(
        "made of an Inferix report: stages are totals (events inferix_stage), not spans");
    if (far_ > 0) {
      trace_.integrity.notes.push_back(std::to_string(far_) +
                                       " records more than a year from the others skipped");
    }
  }

  const InferixReport& report_;
  double begin_ = 0;
  std::uint64_t far_ = 0;
  Interner names_;
  Trace trace_;
};

}  // namespace
}  // namespace compat::inferix

bool is_inferix_report(const std::string& path) {
  constexpr std::size_t kLook = 4096;
  std::ifstream file(path, std::ios::binary);
  std::string text(kLook, '\0');
  file.read(text.data(), kLook);
  text.resize(static_cast<std::size_t>(file.gcount()));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return false;
  const std::size_t key = text.find_first_not_of(" \t\r\n", first + 1);
  return key != std::string::npos && text.compare(key, 14, "\"session_info\"") == 0;
}

Result<Imported> import_inferix_report(const std::string& path) {
  const Result<InferixReport> report = read_inferix_report(path);
  if (!report.ok()) return report.error();
  return compat::inferix::Builder(*report).make();
}

}  // namespace genscope

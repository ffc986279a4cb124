// TraceBuilder: a Trace for a test, from a few readable lines. For *_test.cc only.
//
//   TraceBuilder t;
//   const auto parent = t.span("sample", SpanKind::stage, 0, 100);
//   t.span("step", SpanKind::step, 10, 20, {.parent = parent});
//   const Run run = make_run(t.trace());
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <genscope/trace.h>

namespace genscope::testing {

struct SpanSpec {
  std::uint32_t parent = kNone;
  std::uint32_t track = 0;
  std::uint8_t flags = 0;
};

// An argument: {"ms", 2.5}, {"type", "hit"}.
struct ArgSpec {
  ArgSpec(std::string_view k, double value) : key(k), number(value) {}
  ArgSpec(std::string_view k, const char* value) : key(k), is_text(true), text(value) {}

  std::string_view key;
  bool is_text = false;
  double number = 0;
  std::string text;
};

class TraceBuilder {
 public:
  // Track 0 is the main thread of process `pid`.
  explicit TraceBuilder(std::uint32_t pid = 1000) {
    trace_.process.pid = pid;
    trace_.process.boot_id = "boot-a";
    trace_.process.host = "host-a";
    trace_.integrity.closed = true;
    track("main", pid);
  }

  std::uint32_t track(std::string name, std::uint32_t tid) {
    trace_.tracks.push_back({std::move(name), tid, 0, 0});
    return static_cast<std::uint32_t>(trace_.tracks.size() - 1);
  }

  std::uint32_t name(std::string_view text, SpanKind kind) {
    for (std::uint32_t i = 0; i < trace_.names.size(); ++i) {
      if (trace_.names[i].text == text && trace_.names[i].kind == kind) return i;
    }
    trace_.names.push_back({std::string(text), kind});
    return static_cast<std::uint32_t>(trace_.names.size() - 1);
  }

  // The trace grows to hold it. Returns its index.
  std::uint32_t span(std::string_view text, SpanKind kind, std::int64_t begin_ns,
                     std::int64_t duration_ns, SpanSpec spec = {}) {
    SpanColumns& s = trace_.spans;
    s.begin_ns.push_back(begin_ns);
    s.duration_ns.push_back(duration_ns);
    s.name.push_back(name(text, kind));
    s.track.push_back(spec.track);
    s.parent.push_back(spec.parent);
    s.flags.push_back(spec.flags);
    if ((spec.flags & kSpanUnfinished) != 0) ++trace_.integrity.unfinished_spans;
    cover(begin_ns, begin_ns + duration_ns);
    return static_cast<std::uint32_t>(s.size() - 1);
  }

  // Owners must come in ascending order. For text, `bits` is ignored.
  TraceBuilder& arg(std::uint32_t owner, std::string_view key, ArgType type, std::uint64_t bits,
                    std::string text = {}) {
    if (type == ArgType::text) {
      bits = trace_.texts.size();
      trace_.texts.push_back(std::move(text));
    }
    trace_.span_args.owner.push_back(owner);
    trace_.span_args.key.push_back(name(key, SpanKind::none));
    trace_.span_args.type.push_back(type);
    trace_.span_args.bits.push_back(bits);
    return *this;
  }

  // The same in one go: numbers as float64.
  TraceBuilder& args(std::uint32_t owner, std::initializer_list<ArgSpec> args) {
    add_args(trace_.span_args, owner, args);
    return *this;
  }

  // Returns its index. `span`: that it belongs to.
  std::uint32_t event(std::string_view text, std::int64_t at_ns,
                      std::initializer_list<ArgSpec> args = {}, std::uint32_t span = kNone) {
    EventColumns& e = trace_.events;
    e.at_ns.push_back(at_ns);
    e.name.push_back(name(text, SpanKind::none));
    e.track.push_back(0);
    e.span.push_back(span);
    cover(at_ns, at_ns);
    const auto index = static_cast<std::uint32_t>(e.size() - 1);
    add_args(trace_.event_args, index, args);
    return index;
  }

  TraceBuilder& device(std::uint32_t span, std::int64_t duration_ns) {
    trace_.device.span.push_back(span);
    trace_.device.duration_ns.push_back(duration_ns);
    trace_.device.begin_ns.push_back(-1);
    return *this;
  }

  TraceBuilder& counter(std::string_view text, std::int64_t at_ns, double value,
                        std::uint32_t track = 0) {
    trace_.counters.at_ns.push_back(at_ns);
    trace_.counters.name.push_back(name(text, SpanKind::none));
    trace_.counters.track.push_back(track);
    trace_.counters.value.push_back(value);
    cover(at_ns, at_ns);
    return *this;
  }

  Trace& trace() { return trace_; }

 private:
  void add_args(ArgColumns& columns, std::uint32_t owner, std::initializer_list<ArgSpec> args) {
    for (const ArgSpec& arg : args) {
      columns.owner.push_back(owner);
      columns.key.push_back(name(arg.key, SpanKind::none));
      columns.type.push_back(arg.is_text ? ArgType::text : ArgType::float64);
      columns.bits.push_back(arg.is_text ? trace_.texts.size()
                                         : std::bit_cast<std::uint64_t>(arg.number));
      if (arg.is_text) trace_.texts.push_back(arg.text);
    }
  }

  void cover(std::int64_t begin_ns, std::int64_t end_ns) {
    const bool first = std::exchange(empty_, false);
    trace_.begin_ns = first ? begin_ns : std::min(trace_.begin_ns, begin_ns);
    trace_.end_ns = first ? end_ns : std::max(trace_.end_ns, end_ns);
  }

  Trace trace_;
  bool empty_ = true;
};

template <class... Traces>
Run make_run(Traces&&... traces) {
  Run run;
  run.path = "runs/test";
  run.id = "0123456789abcdef0123456789abcdef";
  run.name = "test";
  run.host = "host-a";
  run.started_unix_ns = 1'700'000'000'123'456'789;
  run.command = {"python", "gen.py"};
  (run.traces.push_back(std::forward<Traces>(traces)), ...);
  for (Trace& trace : run.traces) decode_samples(trace);
  return run;
}

}  // namespace genscope::testing

#include "growth/runs.h"

#include <cstdint>
#include <utility>

#include "harness/pipeline_run.h"

namespace bench {
namespace {

using namespace genscope;

constexpr std::int64_t kMillisecond = 1'000'000;

// A trace that is written record by record, one after another in time.
class Builder {
 public:
  Builder() {
    trace_.process.pid = 1;
    trace_.names.push_back({"work", SpanKind::function});
    trace_.tracks.push_back({"main", 1});
    trace_.integrity.closed = true;
  }
  std::uint32_t name(std::string text, SpanKind kind) {
    trace_.names.push_back({std::move(text), kind});
    return static_cast<std::uint32_t>(trace_.names.size() - 1);
  }
  std::uint32_t track(std::string text, std::uint32_t tid) {
    trace_.tracks.push_back({std::move(text), tid});
    now_ = 0;
    return static_cast<std::uint32_t>(trace_.tracks.size() - 1);
  }
  void span(std::uint32_t name, std::uint32_t track) {
    SpanColumns& s = trace_.spans;
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const auto duration = static_cast<std::int64_t>(1000 + (state_ >> 50));
    s.begin_ns.push_back(now_);
    s.duration_ns.push_back(duration);
    s.name.push_back(name);
    s.track.push_back(track);
    s.parent.push_back(kNone);
    s.flags.push_back(0);
    now_ += duration;
    end_ = now_ > end_ ? now_ : end_;
  }
  void event(std::uint32_t name) {
    EventColumns& e = trace_.events;
    e.at_ns.push_back(now_);
    e.name.push_back(name);
    e.track.push_back(0);
    e.span.push_back(kNone);
    step();
  }
  void counter(std::uint32_t name, double value) {
    CounterColumns& c = trace_.counters;
    c.at_ns.push_back(now_);
    c.name.push_back(name);
    c.track.push_back(0);
    c.value.push_back(value);
    step();
  }
  Run run() && {
    trace_.end_ns = end_;
    Run run;
    run.name = "growth";
    run.traces.push_back(std::move(trace_));
    return run;
  }

 private:
  void step() {
    now_ += kMillisecond;
    end_ = now_ > end_ ? now_ : end_;
  }

  Trace trace_;
  std::int64_t now_ = 0, end_ = 0;
  std::uint64_t state_ = 1;
};

Run many_names(std::size_t count) {
  Builder b;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t name = b.name("request " + std::to_string(i), SpanKind::function);
    b.span(name, 0);
    b.span(name, 0);
  }
  return std::move(b).run();
}

Run many_threads(std::size_t count) {
  Builder b;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t track =
        b.track("worker " + std::to_string(i), static_cast<std::uint32_t>(i + 2));
    for (int k = 0; k < 100; ++k) b.span(0, track);
  }
  return std::move(b).run();
}

Run many_counters(std::size_t count) {
  Builder b;
  b.span(0, 0);
  std::vector<std::uint32_t> names;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(b.name("loss " + std::to_string(i), SpanKind::none));
  }
  for (int k = 0; k < 100; ++k) {
    for (const std::uint32_t name : names) b.counter(name, k);
  }
  return std::move(b).run();
}

Run many_readings(std::size_t count) {
  Builder b;
  b.span(0, 0);
  const std::uint32_t name = b.name("loss", SpanKind::none);
  for (std::size_t i = 0; i < count; ++i) b.counter(name, static_cast<double>(i % 997));
  return std::move(b).run();
}

Run many_events(std::size_t count) {
  Builder b;
  b.span(0, 0);
  const std::uint32_t name = b.name("token", SpanKind::none);
  for (std::size_t i = 0; i < count; ++i) b.event(name);
  return std::move(b).run();
}

Run many_steps(std::size_t count) {
  Builder b;
  const std::uint32_t name = b.name("step", SpanKind::step);
  for (std::size_t i = 0; i < count; ++i) b.span(name, 0);
  return std::move(b).run();
}

Run many_requests(std::size_t count) {
  Builder b;
  const std::uint32_t name = b.name("request", SpanKind::request);
  for (std::size_t i = 0; i < count; ++i) b.span(name, 0);
  return std::move(b).run();
}

Run many_ranks(std::size_t count) { return ranks_run(static_cast<int>(count), 500); }

// As a data loader has them: processes of one program, without ranks.
Run many_processes(std::size_t count) {
  Run run = many_ranks(count);
  for (Trace& trace : run.traces) trace.process.rank.reset();
  return run;
}

}  // namespace

const std::vector<Grown>& dimensions() {
  static const std::vector<Grown> all = {
      {"spans", 200'000, pipeline_run},     {"names", 10'000, many_names},
      {"ranks", 100, many_ranks},           {"processes", 100, many_processes},
      {"threads", 300, many_threads},       {"counters", 300, many_counters},
      {"readings", 100'000, many_readings}, {"events", 100'000, many_events},
      {"steps", 30'000, many_steps},        {"requests", 10'000, many_requests},
  };
  return all;
}

}  // namespace bench

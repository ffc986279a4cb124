// bench_analyze_spans: what the analysis, the facts and the rules cost for runs of a million and of
// ten million spans, in CPU time of one core and in memory per span.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/trace.h>

#include "counted_new.h"
#include "harness/measure.h"
#include "harness/table.h"

namespace {

using namespace bench;
using namespace genscope;

constexpr double kSecondsBar = 5, kBytesBar = 200;

// A pipeline as programs mark it: a session, then steps with two forwards, each of layers that hold
// kernels; a shape on each forward, an index on each step; memory and power ten times a second.
class Workload {
 public:
  explicit Workload(std::size_t spans) {
    Trace& t = trace_;
    t.process.pid = 1;
    for (const auto& [text, kind] : std::initializer_list<std::pair<const char*, SpanKind>>{
             {"tinydiff", SpanKind::session},
             {"denoising", SpanKind::stage},
             {"step", SpanKind::step},
             {"denoiser_forward", SpanKind::forward},
             {"layer", SpanKind::function},
             {"kernel", SpanKind::task},
             {"index", SpanKind::none},
             {"tree/rss_bytes", SpanKind::none}}) {
      t.names.push_back({text, kind});
    }
    t.tracks.push_back({"main", 1});
    reserve(spans);
    const std::uint32_t session = add(0, kNone, 0), stage = add(1, session, 0);
    while (t.spans.size() < spans) step(stage);
    t.spans.duration_ns[session] = t.spans.duration_ns[stage] = now_;
    t.end_ns = now_;
    for (std::int64_t at = 0; at < now_; at += 100'000'000) {
      t.counters.at_ns.push_back(at);
      t.counters.name.push_back(7);
      t.counters.track.push_back(0);
      t.counters.value.push_back(1e9 + static_cast<double>(at % 7919));
    }
    t.integrity.closed = true;
  }
  Run run() && {
    Run run;
    run.name = "bench";
    run.traces.push_back(std::move(trace_));
    return run;
  }

 private:
  static constexpr int kForwards = 2, kLayers = 24, kKernels = 8;

  void reserve(std::size_t n) {
    n += kForwards * kLayers * (kKernels + 1) + kForwards + 3;
    trace_.spans.begin_ns.reserve(n);
    trace_.spans.duration_ns.reserve(n);
    trace_.spans.name.reserve(n);
    trace_.spans.track.reserve(n);
    trace_.spans.parent.reserve(n);
    trace_.spans.flags.reserve(n);
  }
  std::uint32_t add(std::uint32_t name, std::uint32_t parent, std::int64_t duration) {
    SpanColumns& s = trace_.spans;
    s.begin_ns.push_back(now_);
    s.duration_ns.push_back(duration);
    s.name.push_back(name);
    s.track.push_back(0);
    s.parent.push_back(parent);
    s.flags.push_back(0);
    return static_cast<std::uint32_t>(s.size() - 1);
  }
  void step(std::uint32_t stage) {
    SpanColumns& s = trace_.spans;
    const std::uint32_t step = add(2, stage, 0);
    ArgColumns& args = trace_.span_args;
    args.owner.push_back(step);
    args.key.push_back(6);
    args.type.push_back(ArgType::uint64);
    args.bits.push_back(step);
    for (int f = 0; f < kForwards; ++f) {
      const std::uint32_t forward = add(3, step, 0);
      for (int l = 0; l < kLayers; ++l) {
        const std::uint32_t layer = add(4, forward, 0);
        for (int k = 0; k < kKernels; ++k) {
          state_ = state_ * 6364136223846793005u + 1442695040888963407u;
          const auto duration = static_cast<std::int64_t>(1000 + (state_ >> 50));
          add(5, layer, duration);
          now_ += duration;
        }
        s.duration_ns[layer] = now_ - s.begin_ns[layer];
      }
      s.duration_ns[forward] = now_ - s.begin_ns[forward];
    }
    s.duration_ns[step] = now_ - s.begin_ns[step];
  }

  Trace trace_;
  std::int64_t now_ = 0;
  std::uint64_t state_ = 1;
};

struct Cost {
  double seconds = 0, bytes = 0;
};

template <class Body>
Cost cost_of(int repetitions, Body&& body) {
  std::vector<double> times;
  const std::size_t before = held_bytes;
  peak_bytes = held_bytes;
  for (int i = 0; i < repetitions; ++i) {
    const std::uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    body();
    times.push_back(static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) * 1e-9);
  }
  return {median(times), static_cast<double>(peak_bytes - before)};
}

// Returns the seconds of the whole.
double measure_run(std::size_t spans, int repetitions, double smaller, Table& table) {
  const std::size_t before = held_bytes;
  const Run run = Workload(spans).run();
  const auto count = static_cast<double>(run.traces[0].spans.size());
  const double held = static_cast<double>(held_bytes - before) / count;
  Analysis analysis;
  const Cost analyzed = cost_of(repetitions, [&] { analysis = analyze(run); });
  Facts facts;
  const Cost facts_cost = cost_of(repetitions, [&] { facts = facts_of(run, analysis); });
  std::size_t fired = 0;
  const Cost rules = cost_of(repetitions, [&] { fired = advise(facts).findings.size(); });
  const double whole = analyzed.seconds + facts_cost.seconds + rules.seconds;

  char name[64], note[96], bar[32];
  const auto label = [&](const char* what) {
    std::snprintf(name, sizeof name, "%s, %.0e spans", what, static_cast<double>(spans));
    return std::string(name);
  };
  std::snprintf(note, sizeof note, "%.0f ns a span", analyzed.seconds / count * 1e9);
  table.add({label("analyze"), analyzed.seconds, "s", "", 0, "", true, note});
  std::snprintf(note, sizeof note, "%zu facts", facts.all().size());
  table.add({label("facts"), facts_cost.seconds, "s", "", 0, "", true, note});
  std::snprintf(note, sizeof note, "%zu of %zu fired", fired, built_in_rules().size());
  table.add({label("rules"), rules.seconds * 1e3, "ms", "", 0, "", true, note});
  const bool large = spans >= 10'000'000;
  std::snprintf(bar, sizeof bar, "< %g s", kSecondsBar);
  const double growth = smaller > 0 ? whole / smaller : 0;
  table.add({label("all of it"), whole, "s", smaller > 0 ? "a tenth of the spans" : "", growth,
             large ? bar : "", !large || whole < kSecondsBar, ""});
  const double bytes = held + std::max(analyzed.bytes, facts_cost.bytes) / count;
  std::snprintf(bar, sizeof bar, "< %g", kBytesBar);
  std::snprintf(note, sizeof note, "%.0f of them the run itself", held);
  table.add({label("memory"), bytes, "B/span", "", 0, bar, bytes < kBytesBar, note});
  return whole;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Table table;
  const std::size_t large = options.quick ? 100'000 : 10'000'000;
  const double smaller = measure_run(large / 10, 5, 0, table);
  measure_run(large, 3, smaller, table);
  table.finish(options.json);
  return 0;
}

#include "harness/pipeline_run.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

namespace bench {
namespace {

using namespace genscope;

class Workload {
 public:
  explicit Workload(std::size_t spans, int rank = -1) {
    Trace& t = trace_;
    t.process.pid = 1;
    if (rank >= 0) {
      t.process.pid += static_cast<std::uint32_t>(rank);
      t.process.rank = rank;
      state_ += static_cast<std::uint64_t>(rank);
    }
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
  Trace trace() && { return std::move(trace_); }

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

}  // namespace

Run pipeline_run(std::size_t spans) {
  Run run;
  run.name = "bench";
  run.traces.push_back(Workload(spans).trace());
  return run;
}

Run ranks_run(int ranks, std::size_t spans) {
  Run run;
  run.name = std::to_string(ranks) + " ranks";
  for (int rank = 0; rank < ranks; ++rank) run.traces.push_back(Workload(spans, rank).trace());
  return run;
}

}  // namespace bench

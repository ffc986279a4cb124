// What must hold for a Trace whatever bytes it came from: the contract of store.h and trace.h.
// A fuzz target calls it; a violation aborts with the line.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

#include "genscope/analyze.h"
#include "genscope/store.h"
#include "trace/stacks.h"

namespace genscope::fuzz {

#define GENSCOPE_FUZZ_CHECK(condition)                                               \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                  \
    }                                                                                \
  } while (false)

inline void check_args(const ArgColumns& args, std::size_t owners, const Trace& trace) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    GENSCOPE_FUZZ_CHECK(args.owner[i] < owners);
    GENSCOPE_FUZZ_CHECK(i == 0 || args.owner[i - 1] <= args.owner[i]);
    GENSCOPE_FUZZ_CHECK(args.key[i] < trace.names.size());
    GENSCOPE_FUZZ_CHECK(args.type[i] <= ArgType::boolean);
    GENSCOPE_FUZZ_CHECK(args.type[i] != ArgType::text || args.bits[i] < trace.texts.size());
  }
}

inline void check_trace(const Trace& t) {
  const std::size_t spans = t.spans.size(), tracks = t.tracks.size(), names = t.names.size();
  for (const std::size_t n : {t.spans.duration_ns.size(), t.spans.name.size(), t.spans.track.size(),
                              t.spans.parent.size(), t.spans.flags.size()}) {
    GENSCOPE_FUZZ_CHECK(n == spans);
  }
  for (std::uint32_t i = 0; i < spans; ++i) {
    GENSCOPE_FUZZ_CHECK(t.spans.name[i] < names);
    GENSCOPE_FUZZ_CHECK(t.spans.track[i] < tracks);
    GENSCOPE_FUZZ_CHECK(t.spans.duration_ns[i] >= 0);
    const std::uint32_t p = t.spans.parent[i];
    if (p == kNone) continue;
    GENSCOPE_FUZZ_CHECK(p < spans);
    // A parent began first: so there is no cycle.
    GENSCOPE_FUZZ_CHECK(std::pair(t.spans.begin_ns[p], p) < std::pair(t.spans.begin_ns[i], i));
  }
  check_args(t.span_args, spans, t);
  check_args(t.event_args, t.events.size(), t);
  for (std::size_t i = 0; i < t.events.size(); ++i) {
    GENSCOPE_FUZZ_CHECK(t.events.name[i] < names && t.events.track[i] < tracks);
    GENSCOPE_FUZZ_CHECK(t.events.span[i] == kNone || t.events.span[i] < spans);
  }
  for (std::size_t i = 0; i < t.counters.size(); ++i) {
    GENSCOPE_FUZZ_CHECK(t.counters.name[i] < names && t.counters.track[i] < tracks);
  }
  for (const SampleSeries& series : t.samples.series) {
    GENSCOPE_FUZZ_CHECK(series.entity < t.samples.entities.size() && series.metric != nullptr);
    std::int64_t before = std::numeric_limits<std::int64_t>::min();
    for (const std::uint32_t row : series.rows) {
      GENSCOPE_FUZZ_CHECK(row < t.counters.size() && std::isfinite(t.counters.value[row]));
      GENSCOPE_FUZZ_CHECK(t.counters.at_ns[row] >= before);
      before = t.counters.at_ns[row];
    }
  }
  for (std::size_t i = 0; i < t.device.size(); ++i) {
    GENSCOPE_FUZZ_CHECK(t.device.span[i] < spans && t.device.duration_ns[i] >= 0);
    GENSCOPE_FUZZ_CHECK(i == 0 || t.device.span[i - 1] < t.device.span[i]);
  }
  for (const Gap& gap : t.gaps) GENSCOPE_FUZZ_CHECK(gap.track < tracks);
  const trace::Stacks stacks = trace::read_stacks(t);
  for (std::size_t i = 0; i < stacks.nodes.size(); ++i) {
    const trace::StackNode& node = stacks.nodes[i];
    GENSCOPE_FUZZ_CHECK(node.frame < stacks.frames.size());
    GENSCOPE_FUZZ_CHECK(node.parent == kNone || node.parent < i);
  }
  for (const trace::StackStretch& stretch : stacks.stretches) {
    GENSCOPE_FUZZ_CHECK(stretch.node == kNone || stretch.node < stacks.nodes.size());
    GENSCOPE_FUZZ_CHECK(stretch.begin_ns <= stretch.end_ns && stretch.cpu_ns >= 0);
  }
}

// Reads `path` as everybody does, checks, and analyses: figures of hostile traces may be nonsense,
// but must be figures.
inline void read_and_check(const std::string& path) {
  const auto run = read_run(path);
  if (!run.ok()) {
    GENSCOPE_FUZZ_CHECK(!run.error().message.empty());
    return;
  }
  for (const Trace& trace : run->traces) check_trace(trace);
  (void)analyze(*run);
}

}  // namespace genscope::fuzz

// Runs in outline, which a page of a comparison draws over one another: docs/page-data.md.
#include "report/page/outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/text.h"
#include "report/span_dump.h"
#include "report/thin.h"

namespace genscope {
namespace {

constexpr std::size_t kMostStages = 1000, kMostSteps = 10'000;
constexpr std::uint64_t kPoints = 600;  // of a series: a chart is hardly wider

bool is_outline_stage(SpanKind kind) { return kind == SpanKind::stage || kind == SpanKind::load; }

// Spans of a kind that no other of it encloses, by begin.
template <class Wanted>
std::vector<std::uint32_t> outermost(const Trace& trace, std::uint32_t track,
                                     const Wanted& wanted) {
  const SpanColumns& spans = trace.spans;
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    if (spans.track[i] == track && wanted(trace.kind(i))) found.push_back(i);
  }
  std::stable_sort(found.begin(), found.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(spans.begin_ns[a], -spans.duration_ns[a]) <
           std::pair(spans.begin_ns[b], -spans.duration_ns[b]);
  });
  std::vector<std::uint32_t> kept;
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (const std::uint32_t i : found) {
    if (spans.begin_ns[i] < end) continue;
    end = report::wrapping_add(spans.begin_ns[i], spans.duration_ns[i]);
    kept.push_back(i);
  }
  return kept;
}

struct MainTrack {
  std::size_t trace = 0;
  std::uint32_t track = 0;
  double most = 0;
};
// The track with the most time in spans of a kind, over all traces.
template <class Wanted>
MainTrack main_track(const Run& run, const Wanted& wanted) {
  MainTrack best;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    std::vector<double> time(trace.tracks.size());
    for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
      if (wanted(trace.kind(i))) {
        time[trace.spans.track[i]] += static_cast<double>(trace.spans.duration_ns[i]);
      }
    }
    for (std::uint32_t k = 0; k < time.size(); ++k) {
      if (time[k] > best.most) best = {t, k, time[k]};
    }
  }
  return best;
}

// What is drawn over time: of the run's processes and of its first GPU.
bool is_outline_series(const Entity& entity, std::string_view metric, const Entity*& gpu) {
  if (entity.kind == EntityKind::process_tree) return metric == "rss_bytes" || metric == "cpu_ns";
  if (entity.kind != EntityKind::gpu) return false;
  if (gpu == nullptr) gpu = &entity;
  return gpu->id == entity.id &&
         (metric == "memory_used_bytes" || metric == "busy_ratio" || metric == "power_watts");
}

void add_series(const Run& run, const Analysis& analysis, RunOutline& outline) {
  const Entity* gpu = nullptr;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    const std::int64_t shift = report::shift_to_begin(analysis, t);
    for (const SampleSeries& series : trace.samples.series) {
      const Entity& entity = trace.samples.entities[series.entity];
      if (series.rows.empty() || !is_outline_series(entity, series.metric->id, gpu)) continue;
      const bool known = std::any_of(
          outline.series.begin(), outline.series.end(), [&](const RunOutline::Series& other) {
            return other.metric == series.metric->id && other.entity == entity.id;
          });
      if (known) continue;  // another process watched the same
      RunOutline::Series& out = outline.series.emplace_back();
      out.entity = entity.id;
      out.metric = series.metric->id;
      out.unit = series.metric->unit;
      for (const std::uint32_t i : report::thinned(series.rows, trace.counters.value, kPoints)) {
        out.at_ns.push_back(
            static_cast<double>(report::wrapping_add(trace.counters.at_ns[i], shift)));
        out.value.push_back(trace.counters.value[i]);
      }
    }
  }
}

}  // namespace

RunOutline outline_of(const Run& run, const Analysis& analysis) {
  RunOutline outline;
  outline.name = run.name;
  outline.path = run.path;
  outline.wall_ns = analysis.wall_ns;
  if (const MainTrack main = main_track(run, is_outline_stage); main.most > 0) {
    const Trace& trace = run.traces[main.trace];
    const std::int64_t shift = report::shift_to_begin(analysis, main.trace);
    for (const std::uint32_t i : outermost(trace, main.track, is_outline_stage)) {
      if (outline.stages.size() == kMostStages) break;
      outline.stages.push_back({trace.span_name(i),
                                report::wrapping_add(trace.spans.begin_ns[i], shift),
                                trace.spans.duration_ns[i]});
    }
  }
  const auto is_step = [](SpanKind kind) { return kind == SpanKind::step; };
  if (const MainTrack main = main_track(run, is_step); main.most > 0) {
    const Trace& trace = run.traces[main.trace];
    const std::int64_t shift = report::shift_to_begin(analysis, main.trace);
    for (const std::uint32_t i : outermost(trace, main.track, is_step)) {
      if ((trace.spans.flags[i] & (kSpanUnfinished | kSpanClipped)) != 0) continue;
      outline.steps += 1;
      if (outline.step_ns.size() == kMostSteps) continue;
      outline.step_begin_ns.push_back(
          static_cast<double>(report::wrapping_add(trace.spans.begin_ns[i], shift)));
      outline.step_ns.push_back(static_cast<double>(trace.spans.duration_ns[i]));
    }
  }
  add_series(run, analysis, outline);
  return outline;
}

std::pair<std::size_t, std::size_t> outlined_runs(std::size_t before, std::size_t after) noexcept {
  constexpr std::size_t kHalf = kMostOutlines / 2;
  const std::size_t of_before = std::min(before, kMostOutlines - std::min(after, kHalf));
  return {of_before, std::min(after, kMostOutlines - of_before)};
}

namespace report {

std::string outlines_json(const RunOutlines& outlines, Blobs& blobs) {
  std::string runs;
  for (const bool is_before : {true, false}) {
    for (const RunOutline& one : is_before ? outlines.before : outlines.after) {
      std::string stages, series;
      for (const RunOutline::Stage& stage : one.stages) {
        stages += fmt::format("{}[{},{},{}]", stages.empty() ? "" : ",",
                              base::json_quote(stage.name), stage.begin_ns, stage.duration_ns);
      }
      for (const RunOutline::Series& s : one.series) {
        series += fmt::format(R"({}{{"entity":{},"metric":{},"unit":{},"at":{},"value":{}}})",
                              series.empty() ? "" : ",", base::json_quote(s.entity),
                              base::json_quote(s.metric), base::json_quote(s.unit),
                              blobs.add(std::span<const double>(s.at_ns)),
                              blobs.add(std::span<const double>(s.value)));
      }
      runs += fmt::format(
          R"({}{{"side":"{}","name":{},"path":{},"wall_ns":{},"stages":[{}],"steps":{},)",
          runs.empty() ? "" : ",", is_before ? "before" : "after", base::json_quote(one.name),
          base::json_quote(one.path), one.wall_ns, stages, one.steps);
      runs += fmt::format(R"("step_begin":{},"step":{},"series":[{}]}})",
                          blobs.add(std::span<const double>(one.step_begin_ns)),
                          blobs.add(std::span<const double>(one.step_ns)), series);
    }
  }
  return fmt::format(R"({{"runs":[{}],"left_out":{}}})", runs, outlines.left_out);
}

}  // namespace report
}  // namespace genscope

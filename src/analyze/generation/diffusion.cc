#include <algorithm>
#include <cmath>

#include "analyze/generation/ends.h"
#include "analyze/generation/generation.h"
#include "analyze/generation/keys.h"
#include "analyze/generation/roles.h"
#include "analyze/percentile.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

constexpr double kBytesPerMb = 1024.0 * 1024.0;  // what Inferix calls "MB"

struct Block {
  Interval time;           // on the run's scale
  std::uint32_t span = 0;  // or kNone: told as an event
  std::optional<double> frames;
};

// What spans and events say of blocks and steps beside their times.
struct Said {
  std::vector<Block> blocks;
  Ends timestep;
  std::optional<double> guidance_min, guidance_max, memory_peak;

  void step(const ArgCursor& args, std::int64_t at_ns) {
    if (const auto value = args.number(Key::timestep)) timestep.add(at_ns, *value);
    if (const auto value = args.number(Key::guidance)) {
      guidance_min = std::min(guidance_min.value_or(*value), *value);
      guidance_max = std::max(guidance_max.value_or(*value), *value);
    }
  }
  void memory(const ArgCursor& args) {
    std::optional<double> bytes = args.amount(Key::memory_bytes);
    if (!bytes) {
      bytes = args.amount(Key::memory_mb);
      if (bytes) *bytes *= kBytesPerMb;
    }
    if (bytes) memory_peak = std::max(memory_peak.value_or(*bytes), *bytes);
  }
};

std::optional<double> frames_of(const ArgCursor& args) {
  const std::optional<double> frames = args.amount(Key::frames);
  return frames ? frames : args.amount(Key::block_size);
}

// Frames of a block that does not say them, from a step or event inside it that does. The blocks of
// a trace, from `first_block` on, are in the order of their spans.
void give_frames(const Trace& trace, std::size_t first_block, std::uint32_t inner,
                 const std::optional<double>& frames, std::vector<Block>& blocks) {
  if (!frames || inner == kNone) return;
  const auto is_block = [&](std::uint32_t s) { return trace.kind(s) == SpanKind::block; };
  const std::uint32_t span = is_block(inner) ? inner : nearest_around(trace, inner, is_block);
  const auto found = std::lower_bound(
      blocks.begin() + static_cast<std::ptrdiff_t>(first_block), blocks.end(), span,
      [](const Block& block, std::uint32_t wanted) { return block.span < wanted; });
  if (found != blocks.end() && found->span == span && !found->frames) found->frames = frames;
}

// False if the trace has no span of kind block.
bool read_spans(const Trace& trace, std::int64_t offset, std::size_t first_block, Said& said) {
  const SpanColumns& spans = trace.spans;
  bool any = false;
  visit_spans(trace, SpanKind::block, [&](std::size_t i, const ArgCursor& args) {
    any = true;
    said.memory(args);
    if ((spans.flags[i] & (kSpanUnfinished | kSpanFailed)) != 0) return;
    said.blocks.push_back({interval(add(spans.begin_ns[i], offset), spans.duration_ns[i]),
                           static_cast<std::uint32_t>(i), frames_of(args)});
  });
  visit_spans(trace, SpanKind::step, [&](std::size_t i, const ArgCursor& args) {
    said.step(args, add(spans.begin_ns[i], offset));
    if (any) {
      give_frames(trace, first_block, static_cast<std::uint32_t>(i), args.amount(Key::block_size),
                  said.blocks);
    }
  });
  return any;
}

void read_events(const Trace& trace, std::int64_t offset, std::size_t first_block,
                 bool has_block_spans, Said& said) {
  const std::vector<EventRole> roles = event_roles(trace);
  ArgCursor args(trace, trace.event_args);
  for (std::size_t e = 0; e < trace.events.size(); ++e) {
    const EventRole role = roles[trace.events.name[e]];
    if (role != EventRole::diffusion_step && role != EventRole::block) continue;
    args.seek(e);
    const std::int64_t at = add(trace.events.at_ns[e], offset);
    if (role == EventRole::diffusion_step) {
      said.step(args, at);
      continue;
    }
    said.memory(args);
    if (has_block_spans) {
      give_frames(trace, first_block, trace.events.span[e], frames_of(args), said.blocks);
    } else if (const auto ms = args.amount(Key::ms)) {
      said.blocks.push_back({{subtract(at, from_ms(*ms)), at}, kNone, frames_of(args)});
    }
  }
}

std::optional<double> rate(double count, std::int64_t ns) {
  return ns > 0 ? std::optional(count / seconds(ns)) : std::nullopt;
}

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(nearest_rank(values.size(), 50));
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// `blocks` in the order of time, not empty.
void describe_blocks(const std::vector<Block>& blocks, std::int64_t run_begin_ns,
                     DiffusionSummary& out) {
  constexpr double kMostFrames = 9e18;
  Coverage all, with_frames;
  std::int64_t all_ns = 0, with_frames_ns = 0;
  double frames = 0;
  std::vector<std::int64_t> durations;
  for (const Block& block : blocks) {
    durations.push_back(block.time.length());
    all_ns = add(all_ns, all.add(block.time));
    if (!block.frames) continue;
    ++out.blocks_with_frames;
    frames += *block.frames;
    with_frames_ns = add(with_frames_ns, with_frames.add(block.time));
  }
  out.blocks = blocks.size();
  out.blocks_per_second = rate(static_cast<double>(blocks.size()), all_ns);
  if (out.blocks_with_frames > 0 && frames < kMostFrames) {
    out.frames = static_cast<std::uint64_t>(std::llround(frames));
    out.frames_per_second = rate(frames, with_frames_ns);
    out.frames_per_block = frames / static_cast<double>(out.blocks_with_frames);
  }
  out.block_p50_ns = median(durations);
  out.block_max_ns = *std::max_element(durations.begin(), durations.end());
  out.first_block_ns = subtract(blocks.front().time.end, run_begin_ns);
  if (blocks.size() < 2) return;
  durations.erase(durations.begin());
  const std::int64_t others = median(std::move(durations));
  if (others > 0) {
    out.first_block_ratio = static_cast<double>(*out.first_block_ns) / static_cast<double>(others);
  }
}

}  // namespace

DiffusionSummary summarize_diffusion(const Run& run, const Clocks& clocks,
                                     const StepSeries& steps) {
  Said said;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const std::size_t first_block = said.blocks.size();
    const bool spans = read_spans(run.traces[t], clocks.offset_ns[t], first_block, said);
    read_events(run.traces[t], clocks.offset_ns[t], first_block, spans, said);
  }
  const auto earlier = [](const Block& a, const Block& b) { return a.time.begin < b.time.begin; };
  if (!std::is_sorted(said.blocks.begin(), said.blocks.end(), earlier)) {
    std::stable_sort(said.blocks.begin(), said.blocks.end(), earlier);
  }
  DiffusionSummary out;
  if (!said.blocks.empty()) describe_blocks(said.blocks, clocks.begin_ns, out);
  Coverage covered;
  std::int64_t steps_ns = 0;
  for (const StepPoint& step : steps.steps) {
    steps_ns = add(steps_ns, covered.add(interval(step.begin_ns, step.duration_ns)));
  }
  out.steps_per_second = rate(static_cast<double>(steps.steps.size()), steps_ns);
  out.timestep_first = said.timestep.first();
  out.timestep_last = said.timestep.last();
  out.guidance_min = said.guidance_min;
  out.guidance_max = said.guidance_max;
  out.block_memory_peak_bytes = said.memory_peak;
  return out;
}

}  // namespace genscope::analysis

#include "report/generation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "report/format.h"
#include "report/printable.h"

namespace genscope::report {
namespace {

// More than a person reads; JSON has all.
constexpr std::size_t kMaxEpochs = 20;
constexpr std::size_t kMaxLayers = 10;
constexpr std::size_t kMaxModels = 10;
constexpr std::size_t kMaxBottlenecks = 5;

std::string figure(double value) { return fmt::format("{:.3g}", value); }

// Joins what is known: "a, b, c".
class Listing {
 public:
  Listing& add(const std::string& text) {
    if (!text_.empty()) text_ += ", ";
    text_ += text;
    return *this;
  }
  template <class T, class Format>
  Listing& add(const std::optional<T>& value, Format&& format) {
    return value ? add(format(*value)) : *this;
  }
  const std::string& text() const noexcept { return text_; }
  bool empty() const noexcept { return text_.empty(); }

 private:
  std::string text_;
};

auto with_unit(const char* unit) {
  return [unit](double value) { return figure(value) + " " + unit; };
}
auto labelled(const char* label) {
  return [label](std::int64_t ns) { return std::string(label) + " " + duration(ns); };
}

std::string times(const StepSummary& s) {
  std::string text =
      fmt::format("{}: first {}", counted(s.count, "step", "steps"), duration(s.first_ns));
  if (s.count > 1) {
    text += fmt::format(", median of the rest {}, p95 {}, max {}", duration(s.rest_p50_ns),
                        duration(s.p95_ns), duration(s.max_ns));
  }
  if (s.first_ratio > 0) text += fmt::format(", first ratio {:.3g}", s.first_ratio);
  return text;
}

void say_steady(const StepSummary& s, std::vector<std::string>& out) {
  if (s.steady_count < 2) return;
  Listing steady;
  steady.add(s.steady_p50_ns, labelled("median")).add(s.steady_p95_ns, labelled("p95"));
  steady.add(s.steady_cv, [](double cv) { return "variation " + percent(cv); });
  std::string text = fmt::format("{} steady: {}", count(s.steady_count), steady.text());
  if (s.warmup_count > 0) {
    text += fmt::format("; {} warming up: {}", count(s.warmup_count), duration(s.warmup_ns));
  }
  out.push_back(std::move(text));
  if (const auto& trend = s.trend_percent_per_100; trend && !trend->flat()) {
    const double percent_ns = static_cast<double>(s.steady_p50_ns.value_or(0)) / 100;
    const auto [near, far] = std::minmax({std::abs(trend->low), std::abs(trend->high)});
    out.push_back(fmt::format("Steps take {} {} per 100 steps (95% interval {} to {})",
                              duration(std::abs(trend->value) * percent_ns),
                              trend->value > 0 ? "longer" : "less", duration(near * percent_ns),
                              duration(far * percent_ns)));
  }
  if (s.outlier_count > 0) {
    const auto worst = std::max_element(
        s.outliers.begin(), s.outliers.end(),
        [](const StepOutlier& a, const StepOutlier& b) { return a.ratio < b.ratio; });
    out.push_back(
        fmt::format("{} longer than {} times the steady median; the longest is number "
                    "{}, {:.3g} times",
                    counted(s.outlier_count, "steady step is", "steady steps are"),
                    StepSummary::kOutlierRatio, worst->index + 1, worst->ratio));
  }
  if (s.high_variance) {
    out.push_back(
        fmt::format("High variance: the longest steady step took {:.3g} times the "
                    "shortest",
                    *s.variance_ratio));
  }
}

// "timesteps 999 to 1, guidance 1 to 7.5"
void say_schedule(const DiffusionSummary& d, std::vector<std::string>& out) {
  Listing said;
  if (d.timestep_first) {
    said.add(
        fmt::format("timesteps {} to {}", number(*d.timestep_first), number(*d.timestep_last)));
  }
  if (d.guidance_min) {
    said.add(
        *d.guidance_min == *d.guidance_max
            ? "guidance " + number(*d.guidance_min)
            : fmt::format("guidance {} to {}", number(*d.guidance_min), number(*d.guidance_max)));
  }
  if (!said.empty()) out.push_back("As the program says: " + said.text());
}

Section blocks(const DiffusionSummary& d) {
  Section out("Blocks");
  if (d.blocks == 0) return out;
  Listing rates;
  rates.add(d.frames_per_second, with_unit("frames/s"))
      .add(d.blocks_per_second, with_unit("blocks/s"))
      .add(d.steps_per_second, with_unit("steps/s"));
  std::string text = counted(d.blocks, "block", "blocks");
  if (d.frames) text += ", " + counted(*d.frames, "frame", "frames");
  out.sentences.push_back(text + (rates.empty() ? "" : ": " + rates.text()));
  if (d.frames && d.blocks_with_frames < d.blocks) {
    out.sentences.push_back(
        fmt::format("{} say how many frames they hold; frames and their rate "
                    "are of these",
                    counted(d.blocks_with_frames, "block", "blocks")));
  }
  Listing lengths;
  lengths.add(d.block_p50_ns, labelled("median")).add(d.block_max_ns, labelled("max"));
  lengths.add(d.first_block_ns, labelled("first one done after"));
  if (d.first_block_ratio) {
    lengths.add(fmt::format("{:.3g} times the median of the others", *d.first_block_ratio));
  }
  out.sentences.push_back(lengths.text());
  if (d.block_memory_peak_bytes) {
    out.sentences.push_back("Most memory of a block: " +
                            bytes(static_cast<std::uint64_t>(*d.block_memory_peak_bytes)));
  }
  return out;
}

Table epoch_table(const std::vector<EpochRow>& epochs) {
  Table table({{"epoch"},
               {"time"},
               {"batches"},
               {"failed", false, 3},
               {"median"},
               {"max", false, 2},
               {"first loss", false, 1},
               {"last loss"},
               {"", true, 4}});
  const auto time = [](const std::optional<std::int64_t>& ns) {
    return ns ? duration(*ns, true) : "-";
  };
  const auto loss = [](const std::optional<double>& value) { return value ? number(*value) : "-"; };
  for (std::size_t i = 0; i < std::min(epochs.size(), kMaxEpochs); ++i) {
    const EpochRow& e = epochs[i];
    table.add({count(e.index), duration(e.duration_ns, true), count(e.batches.count),
               count(e.batches.failed), time(e.batches.p50_ns), time(e.batches.max_ns),
               loss(e.batches.first_loss), loss(e.batches.last_loss),
               e.failed       ? "failed"
               : e.unfinished ? "open"
                              : ""});
  }
  return table;
}

Section training(const TrainingSummary& t) {
  Section out("Training");
  const BatchFigures& b = t.batches;
  if (b.count == 0 && t.epochs.empty()) return out;
  Listing batches;
  batches.add(counted(b.count, "batch", "batches"));
  if (b.failed > 0) batches.add(count(b.failed) + " failed");
  batches.add(b.p50_ns, labelled("median")).add(b.min_ns, labelled("min"));
  batches.add(b.max_ns, labelled("max"));
  if (b.first_loss) {
    batches.add(fmt::format("loss {} to {}, least {}", number(*b.first_loss), number(*b.last_loss),
                            number(*b.min_loss)));
  }
  out.sentences.push_back(batches.text());
  Listing parts;
  parts.add(t.input_wait_share, [](double s) { return percent(s) + " waiting for input"; });
  parts.add(t.encode_share, [](double s) { return percent(s) + " in encoders and VAE"; });
  if (!parts.empty()) out.sentences.push_back("Of the loop: " + parts.text());
  if (t.high_variance) {
    out.sentences.push_back(fmt::format(
        "High variance: the longest batch after the first took {:.3g} times the shortest",
        *t.variance_ratio));
  }
  out.table = epoch_table(t.epochs);
  out.left_out = t.epochs.size() - std::min(t.epochs.size(), kMaxEpochs);
  return out;
}

// Of sessions only a failure is news.
Section requests(const RequestSummary& r) {
  Section out(r.sessions ? "Sessions" : "Requests");
  if (r.count == 0 || (r.sessions && r.failed == 0)) return out;
  Listing text;
  text.add(r.sessions ? counted(r.count, "session", "sessions")
                      : counted(r.count, "request", "requests"));
  if (r.failed > 0) {
    text.add(fmt::format("{} failed ({} went well)", count(r.failed), percent(*r.success_ratio)));
  }
  text.add(r.p50_ns, labelled("median")).add(r.p95_ns, labelled("p95"));
  text.add(r.max_ns, labelled("max"));
  text.add(r.images, [](std::uint64_t n) { return counted(n, "image", "images"); });
  out.sentences.push_back(text.text());
  return out;
}

// The stage table has them one by one; a split needs both.
Section multimodal(const MultimodalSummary& m) {
  Section out("Text and image");
  if (m.text_calls == 0 || m.image_calls == 0) return out;
  const auto part = [](const char* what, std::uint64_t calls, double ms,
                       const std::optional<double>& share) {
    return fmt::format("{}: {}, {} on average{}", what, counted(calls, "call", "calls"),
                       duration(ms * 1e6), share ? ", " + percent(*share) + " of the run" : "");
  };
  out.sentences.push_back(part("text", m.text_calls, *m.text_ms_mean, m.text_share));
  out.sentences.push_back(part("image", m.image_calls, *m.image_ms_mean, m.image_share));
  return out;
}

Section bottlenecks(const std::vector<Bottleneck>& all) {
  Section out("Bottlenecks");
  for (std::size_t i = 0; i < std::min(all.size(), kMaxBottlenecks); ++i) {
    out.sentences.push_back(fmt::format("{} ({}): {}, {}", printable(all[i].name),
                                        name(all[i].kind), percent(all[i].self_share),
                                        all[i].threshold));
  }
  return out;
}

Section streaming(const std::optional<StreamingSummary>& s) {
  Section out("Streaming");
  if (!s) return out;
  Listing text;
  text.add(counted(s->frames_sent, "frame", "frames") + " sent");
  text.add(fmt::format("{} dropped{}", count(s->frames_dropped),
                       s->drop_ratio ? " (" + percent(*s->drop_ratio) + ")" : ""));
  text.add(s->frames_per_second, with_unit("frames/s"));
  out.sentences.push_back(text.text());
  Listing more;
  const auto pair = [&](const char* what, const std::optional<double>& mean,
                        const std::optional<double>& max, const char* unit) {
    if (mean) more.add(fmt::format("{} {}{} (max {})", what, figure(*mean), unit, figure(*max)));
  };
  pair("encoding", s->encode_ms_mean, s->encode_ms_max, " ms");
  pair("latency", s->latency_ms_mean, s->latency_ms_max, " ms");
  pair("buffer", s->buffer_mean, s->buffer_max, "");
  if (!more.empty()) out.sentences.push_back("On average: " + more.text());
  return out;
}

std::string parameters(double n) {
  if (n >= 1e9) return fmt::format("{:.1f}B", n / 1e9);
  if (n >= 1e6) return fmt::format("{:.1f}M", n / 1e6);
  return count(static_cast<std::uint64_t>(n));
}

Section layers(const std::vector<LayerRow>& all) {
  Section out("Layers");
  if (all.empty()) return out;
  out.table = Table({{"layer", true},
                     {"calls"},
                     {"total"},
                     {"share"},
                     {"mean", false, 1},
                     {"max", false, 2},
                     {"parameters", false, 3}});
  const std::size_t shown = std::min(all.size(), kMaxLayers);
  for (std::size_t i = 0; i < shown; ++i) {
    const LayerRow& l = all[i];
    out.table.add({printable(l.name), count(l.count), duration(l.total_ns, true), percent(l.share),
                   duration(l.mean_ns, true), duration(l.max_ns, true),
                   l.parameters ? parameters(*l.parameters) : "-"});
  }
  out.left_out = all.size() - shown;
  return out;
}

// Caches, memory events and models: a line each.
Section told(const Analysis& analysis) {
  Section out("Told by the program");
  const auto size = [](double n) { return bytes(static_cast<std::uint64_t>(n)); };
  if (const auto& c = analysis.cache) {
    Listing text;
    text.add(counted(c->hits, "hit", "hits")).add(counted(c->misses, "miss", "misses"));
    text.add(counted(c->evictions, "eviction", "evictions"));
    text.add(c->hit_ratio, [](double r) { return "hit ratio " + percent(r); });
    text.add(c->size_last_bytes, [&](double n) { return size(n) + " at the end"; });
    out.sentences.push_back("Cache: " + text.text());
  }
  if (const auto& m = analysis.memory_events) {
    Listing text;
    text.add(fmt::format("{} ({})", counted(m->allocations, "allocation", "allocations"),
                         size(m->allocated_bytes)));
    text.add(fmt::format("{} ({})", counted(m->frees, "free", "frees"), size(m->freed_bytes)));
    text.add(m->small_share, [](double s) { return percent(s) + " of them below 1 MiB"; });
    out.sentences.push_back("Memory: " + text.text());
  }
  Listing models;
  for (std::size_t i = 0; i < std::min(analysis.models.size(), kMaxModels); ++i) {
    const ModelRow& m = analysis.models[i];
    models.add(fmt::format("{}{} {}", printable(m.name),
                           m.type.empty() ? "" : " (" + printable(m.type) + ")",
                           parameters(m.parameters)));
  }
  if (!models.empty()) out.sentences.push_back("Parameters: " + models.text());
  return out;
}

}  // namespace

Section steps_section(const Analysis& analysis) {
  Section out("Steps");
  if (analysis.steps.count == 0) return out;
  out.sentences.push_back(times(analysis.steps));
  if (const StepSummary& s = analysis.steps; s.device_p50_ns) {
    out.sentences.push_back(
        fmt::format("By the device's own clock, of {}: median {}, p95 {}, max {}",
                    counted(s.device_count, "step", "steps"), duration(*s.device_p50_ns),
                    duration(s.device_p95_ns.value_or(0)), duration(s.device_max_ns.value_or(0))));
  }
  say_steady(analysis.steps, out.sentences);
  say_schedule(analysis.diffusion, out.sentences);
  return out;
}

std::vector<Section> generation_sections(const Analysis& analysis) {
  std::vector<Section> all;
  for (Section& section : std::vector<Section>{
           blocks(analysis.diffusion), training(analysis.training), requests(analysis.requests),
           multimodal(analysis.multimodal), bottlenecks(analysis.bottlenecks),
           streaming(analysis.streaming), layers(analysis.layers), told(analysis)}) {
    if (!section.empty()) all.push_back(std::move(section));
  }
  return all;
}

}  // namespace genscope::report

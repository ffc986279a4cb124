#include <fmt/format.h>

#include <array>
#include <cmath>

#include "cli/predict/view.h"
#include "watch/figures.h"

namespace genscope::cli::predict {
namespace {

using watch::bytes_text;
using watch::figure;
using watch::Line;
using watch::Look;
using watch::percent_text;
using watch::seconds_text;
using watch::Style;

constexpr std::size_t kColumn = 10;  // of the text after a label

std::string flops_text(double flops) {
  constexpr std::array<const char*, 6> kUnits = {"GFLOP", "TFLOP", "PFLOP",
                                                 "EFLOP", "ZFLOP", "YFLOP"};
  double value = flops / 1e9;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", figure(value), kUnits[unit]);
}

std::string count(std::uint64_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

class Text {
 public:
  explicit Text(const Look& look) : look_(look) {}

  std::string make(const Shown& shown, bool explain) {
    const Prediction& p = shown.prediction;
    head(p);
    work(p);
    times(p);
    if (shown.mfu) measured(*shown.mfu, *shown.measured_seconds);
    memory(p);
    for (const std::string& remedy : p.remedies)
      row(&remedy == p.remedies.data() ? "Remedies" : "", remedy);
    sources(p, explain);
    return std::move(text_);
  }

 private:
  void head(const Prediction& p) {
    const Workload& w = p.workload;
    Line line(look_);
    line.add(fmt::format("{} on {}", p.spec.title, p.hardware.name), Style::bold);
    text_ += line.text() + "\n";
    std::string what = fmt::format("{}x{}", w.width, w.height);
    if (p.workload.frames > 1) what += fmt::format(", {} frames", w.frames);
    what += fmt::format(", batch {}, {}, {}, {} weights", w.batch, count(w.steps, "step", "steps"),
                        count(*w.guidance_passes, "guidance pass", "guidance passes"),
                        w.dtype ? name(*w.dtype) : "stored");
    if (p.arithmetic != Arithmetic::bf16) {
      what += fmt::format(", {} arithmetic", name(p.arithmetic));
    }
    if (w.offload != Offload::none) what += fmt::format(", {} offload", name(w.offload));
    if (w.devices > 1) {
      what += fmt::format(", {} GPUs ({} for guidance, by {} that share the tokens)", w.devices,
                          p.guidance_devices, p.token_devices);
    }
    row("", what);
  }

  void work(const Prediction& p) {
    row("Tokens", fmt::format("{} of the image, {} of the text", p.image_tokens, p.text_tokens));
    row("FLOPs", fmt::format("{} a forward ({} of it attention), {} a step, {} in all",
                             flops_text(p.forward_flops), percent_text(p.attention_share),
                             flops_text(p.step_flops), flops_text(p.total_flops)));
  }

  void times(const Prediction& p) {
    std::string step =
        fmt::format("{} a step, bound by {}: compute {}, memory {}", seconds_text(p.step_seconds),
                    p.bound, seconds_text(p.compute_seconds), seconds_text(p.memory_seconds));
    if (p.link_seconds > 0) step += fmt::format(", link {}", seconds_text(p.link_seconds));
    row("Floor", step);
    std::string all = fmt::format("{} in all", seconds_text(p.total_seconds));
    if (p.decode_seconds > 0) all += fmt::format(", decoding {}", seconds_text(p.decode_seconds));
    if (p.load_seconds > 0) all += fmt::format(", loading {}", seconds_text(p.load_seconds));
    row("", all);
    if (p.expected) {
      const Expected& e = *p.expected;
      row("Expected",
          fmt::format(
              "{} to {} a step, {} to {} in all: published runs reach {:.0f} to {:.0f} % of "
              "the peak",
              seconds_text(e.step_low), seconds_text(e.step_high), seconds_text(e.total_low),
              seconds_text(e.total_high), 100 * e.mfu_low, 100 * e.mfu_high));
    }
    if (p.joules) {
      row("Energy",
          fmt::format("{} at {}{} W", base::energy(*p.joules),
                      p.workload.devices > 1 ? fmt::format("{} x ", p.workload.devices) : "",
                      figure(*p.hardware.watts)));
    }
  }

  void measured(const Mfu& mfu, double seconds) {
    const Style style = mfu.band == "good"   ? Style::good
                        : mfu.band == "fair" ? Style::warn
                                             : Style::bad;
    row("Measured",
        fmt::format("{} a step: MFU {}, {}; {}", seconds_text(seconds), percent_text(mfu.ratio),
                    mfu.band, mfu.note),
        style);
  }

  void memory(const Prediction& p) {
    const std::string peak = bytes_text(p.peak_bytes);
    if (p.fits) {
      row("Memory",
          fmt::format("{} of {} GiB: {}", peak, figure(p.hardware.memory_gib),
                      *p.fits ? "fits" : "does not fit"),
          *p.fits ? Style::good : Style::bad);
    } else {
      row("Memory", peak);
    }
    const std::string experts =
        p.expert_bytes > 0 ? fmt::format(", of its other experts {}", bytes_text(p.expert_bytes))
                           : "";
    row("", fmt::format("weights {} (of the denoiser {}{}), activations {}, VAE {}",
                        bytes_text(p.weight_bytes), bytes_text(p.denoiser_bytes), experts,
                        bytes_text(p.activation_bytes),
                        p.vae_peak_bytes > 0 ? bytes_text(p.vae_peak_bytes) : watch::kUnknown));
    row("", fmt::format("{} more if attention is not fused", bytes_text(p.math_attention_bytes)));
  }

  // In short: the model and what was filled in or rounded.
  void sources(const Prediction& p, bool explain) {
    bool first = true;
    for (const std::string& source : p.sources) {
      if (!explain && source.starts_with("FLOPs: ")) break;
      row(first ? "Sources" : "", source);
      first = false;
    }
    if (!explain) {
      row("", "--explain: where every figure is from and what is not modelled");
      return;
    }
    for (const std::string& gap : p.not_modelled)
      row(&gap == p.not_modelled.data() ? "Without" : "", gap);
  }

  // A label, and text broken at blanks beside it.
  void row(std::string_view label, std::string_view text, Style style = Style::plain) {
    Line line(look_);
    line.add(label, Style::bold);
    const std::string clean = watch::clean(text, look_.unicode);
    std::string_view rest = clean;
    while (!rest.empty()) {
      line.to_column(kColumn);
      bool begun = false;
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        if (begun && watch::columns(rest.substr(0, end)) + 1 > line.room()) break;
        if (begun) line.add(" ");
        line.add(rest.substr(0, end), style);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        begun = true;
      }
      text_ += line.text() + "\n";
      line = Line(look_);
    }
  }

  const Look& look_;
  std::string text_;
};

}  // namespace

std::string shown_text(const Shown& shown, bool explain, const Look& look) {
  return Text(look).make(shown, explain);
}

std::string hardware_text(const std::vector<Hardware>& table) {
  std::string text =
      fmt::format("{:<23}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>6}{:>6}  {}\n", "DEVICE", "BF16", "FP8",
                  "INT8", "4-BIT", "FP16", "GB/S", "GIB", "W", "SOURCE");
  const auto optional = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string("-");
  };
  for (const Hardware& row : table) {
    text += fmt::format("{:<23}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>6}{:>6}  {}\n", row.name,
                        row.bf16_tflops, optional(row.fp8_tflops), optional(row.int8_tops),
                        optional(row.four_bit_tflops), optional(row.fp16_tflops), row.bandwidth_gbs,
                        row.memory_gib, optional(row.watts), row.source);
  }
  return text + "TFLOPS dense, with fp32 accumulation. `cpu` is measured on the spot.\n";
}

std::string models_text(const std::vector<Prediction>& models) {
  std::string text =
      fmt::format("{:<16}{:<29}{:>8}{:>11}{:>7}{:>6}{:>6}{:>7}{:>12}\n", "NAME", "MODEL", "PARAMS",
                  "SIZE", "FRAMES", "STEPS", "TEXT", "PASSES", "STEP");
  for (const Prediction& p : models) {
    const Workload& w = p.workload;
    text += fmt::format("{:<16}{:<29}{:>7}B{:>11}{:>7}{:>6}{:>6}{:>7}{:>12}\n", p.spec.profile,
                        p.spec.title, figure(static_cast<double>(p.spec.parameters) / 1e9),
                        fmt::format("{}x{}", w.width, w.height), w.frames, w.steps, *w.text_tokens,
                        *w.guidance_passes, flops_text(p.step_flops));
  }
  return text;
}

}  // namespace genscope::cli::predict

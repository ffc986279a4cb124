#include "analyze/resources/utilisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <genscope/predict.h>

#include "inspect/cost/profile.h"

namespace genscope::analysis {
namespace {

using Keys = std::initializer_list<std::string_view>;

std::optional<double> number(const Settings& settings, Keys keys) {
  for (const std::string_view key : keys) {
    const auto found = settings.find(key);
    if (found == settings.end() || !std::holds_alternative<double>(found->second)) continue;
    const double value = std::get<double>(found->second);
    if (std::isfinite(value) && value >= 0 && value < 1e15) return value;
  }
  return std::nullopt;
}

std::string text(const Settings& settings, Keys keys) {
  for (const std::string_view key : keys) {
    const auto found = settings.find(key);
    if (found == settings.end() || !std::holds_alternative<std::string>(found->second)) continue;
    if (!std::get<std::string>(found->second).empty()) return std::get<std::string>(found->second);
  }
  return "";
}

bool flag(const Settings& settings, Keys keys) {
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
    const auto found = settings.find(key);
    return found != settings.end() && std::holds_alternative<bool>(found->second) &&
           std::get<bool>(found->second);
  });
}

// "torch.bfloat16", "fp16", "float8_e4m3fn" and our own names.
std::optional<Dtype> dtype_called(std::string word) {
  if (word.starts_with("torch.")) word.erase(0, 6);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  constexpr std::pair<std::string_view, Dtype> kWords[] = {
      {"bf16", Dtype::bf16},
      {"bfloat16", Dtype::bf16},
      {"fp16", Dtype::f16},
      {"f16", Dtype::f16},
      {"float16", Dtype::f16},
      {"half", Dtype::f16},
      {"fp32", Dtype::f32},
      {"f32", Dtype::f32},
      {"float32", Dtype::f32},
      {"float", Dtype::f32},
      {"fp8", Dtype::f8_e4m3},
      {"fp8_e4m3", Dtype::f8_e4m3},
      {"fp8_e4m3fn", Dtype::f8_e4m3},
      {"float8_e4m3fn", Dtype::f8_e4m3},
      {"f8_e4m3", Dtype::f8_e4m3},
      {"fp8_e5m2", Dtype::f8_e5m2},
      {"float8_e5m2", Dtype::f8_e5m2},
      {"f8_e5m2", Dtype::f8_e5m2},
      {"int8", Dtype::i8},
      {"q8_0", Dtype::q8_0},
      {"q4_k", Dtype::q4_k},
      {"q4_0", Dtype::q4_0},
  };
  for (const auto& [known, dtype] : kWords) {
    if (known == word) return dtype;
  }
  return std::nullopt;
}

struct Wanted {
  std::optional<CostSpec> spec;
  std::string note, missing;
};

// By the name that the program gives its model, else by its architecture and size.
Wanted find_model(const Analysis& analysis, const Settings& settings) {
  Wanted wanted;
  std::vector<std::string> names;
  if (std::string said = text(settings, {"model", "set.model", "model_name", "model_id"});
      !said.empty()) {
    names.push_back(std::move(said));
  }
  for (const ModelRow& row : analysis.models) names.push_back(row.name);
  for (const std::string& name : names) {
    if (const Result<CostSpec> spec = cost_spec(name); spec.ok()) {
      wanted.spec = *spec;
      return wanted;
    }
  }
  const std::string arch = text(settings, {"model.arch[denoiser]", "arch", "architecture"});
  const double parameters = number(settings, {"model.params[denoiser]", "parameters"}).value_or(0);
  const inspect::Profile* const near =
      inspect::nearest_profile(arch, static_cast<std::uint64_t>(parameters));
  // Ten times larger or smaller is another model, though it has the same blocks.
  const double ratio =
      near == nullptr || parameters <= 0 ? 1 : parameters / static_cast<double>(near->parameters);
  if (near != nullptr && ratio > 0.1 && ratio < 10) {
    if (const Result<CostSpec> spec = cost_spec(near->name); spec.ok()) {
      wanted.spec = *spec;
      wanted.note =
          fmt::format("the model is taken for {}, the nearest of its architecture", near->title);
      return wanted;
    }
  }
  wanted.missing = names.empty() && arch.empty()
                       ? "which model ran: give the event \"config\" an argument \"model\""
                       : fmt::format("the cost of {}: not a known model (genscope predict list)",
                                     names.empty() ? arch : names.front());
  return wanted;
}

// Of several GPUs that the run used the busiest.
std::string gpu_name(const Analysis& analysis, const Settings& settings, const Readings& readings) {
  const EntityRow* best = nullptr;
  double most = -1;
  for (const std::uint32_t g : readings.used) {
    const EntityRow* const row = readings.gpus[g].entity;
    const double busy = row->value("busy_ratio", &SeriesRow::mean).value_or(0);
    if (busy > most) best = row;
    most = std::max(most, busy);
  }
  if (best == nullptr) best = analysis.telemetry.first(EntityKind::gpu);
  if (best != nullptr && !best->entity.name.empty()) return best->entity.name;
  return text(settings, {"gpu.name", "gpu", "hardware"});
}

Workload workload_of(const Settings& settings) {
  const auto whole = [&](Keys keys) {
    return static_cast<std::uint64_t>(number(settings, keys).value_or(0));
  };
  Workload w;
  w.round = true;  // as the pipelines do
  w.width = whole({"width", "set.width"});
  w.height = whole({"height", "set.height"});
  w.frames = whole({"frames", "set.frames", "num_frames"});
  w.steps = whole({"steps", "set.steps", "num_inference_steps"});
  w.batch = std::max<std::uint64_t>(1, whole({"batch", "batch_size", "set.batch"}));
  w.dtype = dtype_called(text(settings, {"dtype", "set.dtype", "model.dtype[denoiser]"}));
  const std::string offload = text(settings, {"offload", "set.offload"});
  for (const Offload kind : {Offload::model, Offload::group, Offload::sequential}) {
    if (offload == name(kind)) w.offload = kind;
  }
  return w;
}

// Forwards of a sample per step. Where a pipeline puts its guidance into one batch, one counted
// forward does them all.
void set_passes(const CostSpec& spec, const Settings& settings, std::optional<double> counted,
                Workload& w) {
  const inspect::Profile* const profile = inspect::find_profile(spec.profile);
  const std::uint64_t usual = profile == nullptr ? 1 : profile->guidance.passes;
  const bool batched = profile != nullptr && profile->guidance.batched;
  const auto said = number(settings, {"guidance_passes", "set.guidance_passes"});
  const auto scale = number(settings, {"guidance", "guidance_scale", "cfg", "true_cfg_scale"});
  const bool unguided = scale && *scale <= 1;
  if (said && *said >= 1) {
    w.guidance_passes = static_cast<std::uint64_t>(*said);
  } else if (counted && *counted >= 1) {
    const auto forwards = static_cast<std::uint64_t>(std::llround(*counted));
    w.guidance_passes = batched && forwards == 1 && !unguided ? usual : forwards;
  } else if (unguided) {
    w.guidance_passes = 1;
  }
}

std::optional<double> typical_step_ns(const StepSummary& steps) {
  if (steps.steady_p50_ns && *steps.steady_p50_ns > 0) {
    return static_cast<double>(*steps.steady_p50_ns);
  }
  if (steps.rest_p50_ns > 0) return static_cast<double>(steps.rest_p50_ns);
  if (steps.p50_ns > 0) return static_cast<double>(steps.p50_ns);
  return std::nullopt;
}

void fill_prediction(const Prediction& p, Utilisation& u) {
  const bool half = p.workload.dtype == Dtype::f16 && p.hardware.fp16_tflops.has_value();
  u.predicted_step_ns = p.step_seconds * 1e9;
  u.bound = p.bound;
  u.attention_share = p.attention_share;
  u.attention_bytes = p.math_attention_bytes;
  u.vae_bytes = p.vae_peak_bytes;
  u.peak_bytes = std::max(p.activation_bytes, p.vae_peak_bytes);
  u.peak_tflops = half ? *p.hardware.fp16_tflops : p.hardware.bf16_tflops;
  if (p.hardware.link_gbs <= 0) return;
  const inspect::Profile* const profile = inspect::find_profile(p.spec.profile);
  const bool batched = profile == nullptr || profile->guidance.batched;
  const double forwards = batched ? 1 : static_cast<double>(p.workload.guidance_passes.value_or(1));
  u.offload_ns = forwards * p.denoiser_bytes / p.hardware.link_gbs;  // bytes / (GB/s) are ns
}

void add_note(std::string& notes, const std::string& note) {
  if (!note.empty()) notes += (notes.empty() ? "" : "; ") + note;
}

}  // namespace

Utilisation utilisation(const Analysis& analysis, const Settings& settings,
                        const Readings& readings, const StepSeries& steps,
                        std::optional<double> forwards_per_step) {
  Utilisation u;
  u.forwards_per_step = forwards_per_step;
  const Wanted model = find_model(analysis, settings);
  const std::string gpu = gpu_name(analysis, settings, readings);
  std::string missing = model.missing;
  if (gpu.empty()) add_note(missing, "which GPU ran: no probe saw one");
  const std::optional<double> step_ns = typical_step_ns(analysis.steps);
  if (!step_ns) add_note(missing, "a finished step");
  if (flag(settings, {"training", "set.training"})) {
    add_note(missing, "the cost of training: only forwards are modelled");
  }
  std::optional<Hardware> hardware;
  if (!gpu.empty()) {
    const Result<Hardware> found = find_hardware(gpu);
    if (found.ok()) hardware = *found;
    if (!found.ok()) add_note(missing, fmt::format("the peak of {}: not in the table", gpu));
  }
  if (model.spec) u.model = model.spec->title;
  u.hardware = hardware ? hardware->name : gpu;
  if (!missing.empty()) {
    u.reason = "not known: " + missing;
    return u;
  }
  Workload workload = workload_of(settings);
  set_passes(*model.spec, settings, forwards_per_step, workload);
  const Result<Prediction> prediction = predict(*model.spec, workload, *hardware);
  if (!prediction.ok()) {
    u.reason = prediction.error().message;
    return u;
  }
  fill_prediction(*prediction, u);
  const Mfu mfu = judge(*prediction, *step_ns * 1e-9);
  u.mfu = mfu.ratio;
  u.band = mfu.band;
  u.tflops = prediction->step_flops / *step_ns * 1e-3;  // FLOP/ns are GFLOP/s
  add_note(u.note, mfu.note);
  add_note(u.note, model.note);
  if (workload.width == 0 || workload.height == 0) {
    add_note(u.note, fmt::format("the size was not said: {}x{} is taken",
                                 prediction->workload.width, prediction->workload.height));
  }
  if (readings.used.size() > 1) {
    add_note(u.note,
             fmt::format("{} GPUs were used; the peak is that of one", readings.used.size()));
  }
  constexpr std::size_t kMost = 10'000;
  for (std::size_t i = 0; i < std::min(steps.steps.size(), kMost); ++i) {
    const double seconds = static_cast<double>(steps.steps[i].duration_ns) * 1e-9;
    u.per_step.push_back(
        static_cast<float>(seconds > 0 ? prediction->compute_seconds / seconds : std::nan("")));
  }
  return u;
}

std::optional<double> count_forwards(const Run& run) {
  std::vector<std::uint32_t> counts;
  for (const Trace& trace : run.traces) {
    const auto has = [&](SpanKind kind) {
      return std::any_of(trace.names.begin(), trace.names.end(),
                         [&](const Name& name) { return name.kind == kind; });
    };
    if (!has(SpanKind::step) || !has(SpanKind::forward)) continue;
    constexpr std::uint32_t kInForward = 0xFFFFFFFE;
    std::vector<std::uint32_t> place(trace.spans.size(), kNone);  // of its step in `counts`
    const std::size_t before = counts.size();
    bool any = false;
    for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
      const std::uint32_t parent = trace.spans.parent[i];
      const std::uint32_t around = parent < i ? place[parent] : kNone;
      const SpanKind kind = trace.kind(i);
      if (kind == SpanKind::step) {
        place[i] = static_cast<std::uint32_t>(counts.size());
        counts.push_back(0);
      } else if (kind == SpanKind::forward && around < counts.size()) {
        ++counts[around];
        any = true;
        place[i] = kInForward;
      } else {
        place[i] = around;
      }
    }
    if (!any) counts.resize(before);  // this process marks none
  }
  if (counts.empty()) return std::nullopt;
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  return *middle;
}

}  // namespace genscope::analysis

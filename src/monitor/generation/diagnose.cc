// What the program said itself comes first and stays; what was measured fills the rest, under the
// names that reports use, so that the same rules judge a generation while it runs and a run
// afterwards. What could not be measured is missing with its reason: then a rule that needs it says
// nothing.
#include "monitor/generation/diagnose.h"

#include <utility>

#include <genscope/predict.h>

#include "monitor/generation/model_name.h"

namespace genscope::monitor {
namespace {

// Sets what is not set yet.
class Filling {
 public:
  explicit Filling(Facts& facts) : facts_(facts) {}
  void set(std::string name, FactValue value) {
    if (facts_.find(name) == nullptr) facts_.set(std::move(name), std::move(value));
  }
  void set(std::string name, std::optional<double> value, double scale = 1) {
    if (value) set(std::move(name), FactValue(*value * scale));
  }
  void missing(std::string name, const std::string& reason) {
    if (facts_.find(name) == nullptr) facts_.set_missing(std::move(name), reason);
  }

 private:
  Facts& facts_;
};

constexpr double kNs = 1e9, kGb = 1e9;

void time_facts(const GenerationMetrics& m, const GenerationSummary& summary, Filling& facts) {
  if (m.status == TargetStatus::failed) {
    facts.set("requests.failed", FactValue(1.0));
    facts.missing("requests.target_ratio", "the generation failed");
  } else if (m.target_generation_time > 0) {
    facts.set("requests.target_ratio",
              FactValue(m.total_generation_time / m.target_generation_time));
  }
  if (summary.total_generations > 0) {
    facts.set("requests.count", FactValue(static_cast<double>(summary.total_generations)));
    facts.set("requests.target_met_share", summary.success_rate, 0.01);
  }
  if (m.num_inference_steps > 0) {
    facts.set("set.steps", FactValue(static_cast<double>(m.num_inference_steps)));
  }
  if (m.steps_measured == 0) {
    facts.missing("steps.steady_p50_ns", "no steps were timed");
    return;
  }
  facts.set("steps.count", FactValue(static_cast<double>(m.steps_measured)));
  facts.set("steps.steady_p50_ns", m.step_time_p50, kNs);
  if (m.first_step_time && m.step_time_p50 && *m.step_time_p50 > 0) {
    facts.set("steps.first_ratio", FactValue(*m.first_step_time / *m.step_time_p50));
  }
}

std::string_view dtype_key(std::string_view torch_dtype) {
  if (torch_dtype.starts_with("torch.")) torch_dtype.remove_prefix(6);
  if (torch_dtype == "float16" || torch_dtype == "half") return "fp16";
  if (torch_dtype == "bfloat16") return "bf16";
  if (torch_dtype == "float32" || torch_dtype == "float") return "fp32";
  return torch_dtype;
}

void model_facts(const GenerationMetrics& m, Filling& facts) {
  const std::string& arch = m.model_architecture;
  if (!arch.empty()) facts.set("model.arch[denoiser]", FactValue(arch));
  const std::string family = family_key(m.architecture_type);
  if (!family.empty()) {
    facts.set("model.family[denoiser]", FactValue(family));
  } else {
    facts.missing("model.family[denoiser]", "neither given nor told by the model's name or files");
  }
  if (!m.model_name.empty()) facts.set("model.edit", FactValue(edits(m.model_name)));
  if (!m.torch_dtype.empty()) {
    facts.set("model.dtype[denoiser]", FactValue(std::string(dtype_key(m.torch_dtype))));
  }
  if (const auto passes = default_passes(m.model_name)) {
    facts.set("model.passes[denoiser]", FactValue(*passes));
  }
}

void gpu_facts(const GenerationMetrics& m, Filling& facts) {
  if (m.gpu_name.empty()) {
    for (const char* name :
         {"gpu.present", "gpu.busy_ratio", "gpu.memory_total_bytes", "gpu.memory_peak_share",
          "gpu.memory_headroom_share", "gpu.temperature_max_celsius"}) {
      facts.missing(name, m.gpu_absent.empty() ? "no GPU was read" : m.gpu_absent);
    }
    return;
  }
  facts.set("gpu.present", FactValue(true));
  facts.set("gpu.name", FactValue(m.gpu_name));
  if (!m.driver_version.empty()) facts.set("env.driver", FactValue(m.driver_version));
  facts.set("gpu.memory_total_bytes", m.gpu_memory_total_gb, kGb);
  facts.set("gpu.memory_peak_share", m.gpu_memory_utilization_percent, 0.01);
  if (m.gpu_memory_utilization_percent) {
    facts.set("gpu.memory_headroom_share", FactValue(1 - *m.gpu_memory_utilization_percent / 100));
  }
}

}  // namespace

Facts facts_of_generation(const GenerationMetrics& metrics, const GenerationSummary& summary) {
  Facts facts = metrics.facts != nullptr ? *metrics.facts : Facts();
  Filling filling(facts);
  time_facts(metrics, summary, filling);
  model_facts(metrics, filling);
  gpu_facts(metrics, filling);
  return facts;
}

}  // namespace genscope::monitor

// Judges generations against a target while they run. The pipeline is a double that sleeps: put
// your own in its place.
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include <genscope/advise.h>
#include <genscope/monitor.h>

namespace {

struct Pipeline {
  int step_ms = 2;
  void encode() const { wait(1); }
  void denoise(int /*step*/) const { wait(step_ms); }
  void decode() const { wait(1); }
  static void wait(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
};

void generate(genscope::GenerationMonitor& monitor, const Pipeline& pipeline) {
  // [snippet generation]
  genscope::ScopedGeneration generation = monitor.monitor_generation();
  pipeline.encode();
  for (int i = 0; i < 20; ++i) {
    const auto step = generation.step();
    pipeline.denoise(i);
  }
  pipeline.decode();
  // [/snippet]
}

}  // namespace

int main() {
  // [snippet settings]
  const auto settings = genscope::recommend_settings("MMDiT", "RTX 4090", "qwen-image");
  if (settings) std::printf("%s\n", to_text(*settings).c_str());
  // [/snippet]

  // [snippet monitor]
  genscope::GenerationMonitorOptions options;
  options.target = {.low_seconds = 0.02, .high_seconds = 0.1};
  options.generation = {.model_name = "Qwen-Image", .num_steps = 20, .width = 1024, .height = 1024};
  auto facts = std::make_shared<genscope::Facts>();  // what only the program knows, for the advice
  facts->set("utilisation.forwards_per_step", 2.0);
  options.generation.facts = facts;
  options.on_early_warning = [](const genscope::EarlyWarning& w) {
    std::printf("step %d of %d: %s, %.2f s projected\n", int(w.step), int(w.steps),
                w.out_of_reach ? "target out of reach" : "back in reach", w.projected_seconds);
  };
  options.on_miss = [](const genscope::GenerationMetrics& m, const genscope::Advice& advice) {
    std::printf("%s", to_text(m).c_str());
    for (const auto& finding : advice.findings) std::printf("  - %s\n", finding.advice.c_str());
  };
  genscope::GenerationMonitor monitor(options);
  const auto [pipeline, seconds] = monitor.measure_model_load_time([] { return Pipeline{}; });
  // [/snippet]

  for (int i = 0; i < 3; ++i) generate(monitor, pipeline);
  const genscope::GenerationMetrics before = *monitor.get_current_metrics();
  generate(monitor, Pipeline{.step_ms = 8});  // misses its target, and is told so on the way

  // [snippet after]
  const genscope::GenerationSummary summary = monitor.get_performance_summary();
  std::printf("%d generations, p50 %.3f s, p95 %.3f s, %.0f %% met the target\n",
              int(summary.total_generations), *summary.generation_time.p50,
              *summary.generation_time.p95, *summary.success_rate);
  const auto change = monitor.get_before_after_comparison(before);
  std::printf("%s", to_json(*change).c_str());
  // [/snippet]
  return summary.total_generations == 4 ? 0 : 1;
}

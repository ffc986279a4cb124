// For tests: generations whose time the test moves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <genscope/advise.h>
#include <genscope/monitor.h>

namespace genscope::monitor::scripted_time {

// Time that the test moves; each thread has its own.
inline thread_local std::int64_t t_now = 1'000'000'000;
inline std::int64_t test_clock() noexcept { return t_now; }
inline void pass(double seconds) { t_now += static_cast<std::int64_t>(seconds * 1e9 + 0.5); }

inline GenerationMonitorOptions scripted(std::uint64_t steps = 20) {
  GenerationMonitorOptions options;
  options.generation = {
      .model_name = "Qwen-Image", .num_steps = steps, .width = 1024, .height = 1024};
  options.gpu_memory = false;
  options.clock = test_clock;
  return options;
}

inline void run_steps(Generation& generation, const std::vector<double>& seconds) {
  for (const double s : seconds) {
    generation.begin_step();
    pass(s);
    generation.end_step();
  }
}

inline GenerationMetrics run(GenerationMonitor& monitor, double seconds) {
  Generation generation = monitor.start();
  pass(seconds);
  return generation.end();
}

inline std::vector<std::string> rules_of(const Advice& advice) {
  std::vector<std::string> ids;
  for (const Finding& finding : advice.findings) ids.push_back(finding.rule.id);
  return ids;
}

}  // namespace genscope::monitor::scripted_time

// What a GenerationMonitor knows of one generation, of the last ones, and of two compared. Part of
// generation_monitor.h, which includes this. Data and pure functions; any thread.
//
// The fields that other generation monitors have keep their names: there times are in seconds and
// memory is in 10^9 bytes. What was not measured is absent: `gpu_absent` says why the figures of
// the GPU are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/error.h>

namespace genscope {

class Facts;

// The time that a generation should take. Faster than `low_seconds` is met as well.
struct GenerationTarget {
  double low_seconds = 2.0;
  double high_seconds = 5.0;
};

enum class TargetStatus : std::uint8_t {
  met,
  missed,
  missed_2x,  // by more than twice the target
  failed,     // the generation did not end well, however long it took
};
std::string_view name(TargetStatus status) noexcept;  // "met", "missed", ...

// min(100, 100 * target / total); 100 for a total of 0, 0 for a target that is not above 0.
double performance_score(double total_seconds, double target_seconds) noexcept;
TargetStatus target_status(double total_seconds, double target_seconds) noexcept;

struct GenerationMetrics {
  // --- as other generation monitors have them
  std::optional<double> model_load_time;           // of the last load before this generation
  std::optional<double> generation_time_per_step;  // mean of its steps, else total / steps asked
  double total_generation_time = 0;
  std::optional<double> pipeline_setup_time;
  std::optional<double> gpu_memory_used_gb;  // the most that was seen, all processes of the GPU
  std::optional<double> gpu_memory_total_gb;
  std::optional<double> gpu_memory_utilization_percent;  // of those two
  std::optional<double> system_memory_used_gb;           // of the machine, at its end
  std::optional<double> system_memory_utilization_percent;
  std::uint64_t num_inference_steps = 0;  // asked for; 0: not told
  std::pair<std::uint64_t, std::uint64_t> image_resolution = {0, 0};
  std::uint64_t batch_size = 1;
  bool target_met = false;
  double target_generation_time = 5.0;
  double performance_score = 0;
  std::string architecture_type, model_name;
  std::string torch_dtype, device;  // as the program gave them; empty: not told
  std::string timestamp;            // of its end, UTC, "2026-11-16T10:00:00Z"
  std::string gpu_name, driver_version;

  // --- ours
  std::uint64_t id = 0;  // counts up within the monitor, from 1
  TargetStatus status = TargetStatus::failed;
  std::string failure;               // why it failed; empty if it did not
  bool faster_than_target = false;   // met, and below the range
  std::string model_architecture;    // "qwen_image", where the model's files or name tell
  std::uint64_t steps_measured = 0;  // that began and ended
  std::optional<double> first_step_time, step_time_p50, step_time_p95, step_time_max;
  std::optional<double> time_before_steps, time_after_steps;  // encoding, decoding
  std::optional<std::uint64_t> warned_at_step;  // first step at which the target was out of reach
  std::optional<double> rss_peak_bytes;         // of this process: the most that was seen
  std::string gpu_absent;                       // why there are no figures of a GPU
  std::uint64_t request_id = 0;                 // of the request that asked for it; 0: none

  // What the program said of its settings (advise.h): set.attn_processor, ... Null: nothing.
  std::shared_ptr<const Facts> facts;
};

// A column of times, in seconds. Absent without samples.
struct TimeFigures {
  std::uint64_t count = 0;
  std::optional<double> mean, min, max, p50, p95;  // quantiles: linear (statistics.h)
};
TimeFigures time_figures(const std::vector<double>& seconds);

// How the score goes from generation to generation: a robust slope with its 95 % interval.
struct ScoreTrend {
  double per_generation = 0, low = 0, high = 0;
  bool flat() const noexcept { return low <= 0 && high >= 0; }
};

// The last generations; failed ones are in no time.
struct GenerationSummary {
  GenerationTarget target;
  std::optional<GenerationMetrics> current_generation;  // the last that ended
  std::uint64_t total_generations = 0;                  // that the history holds
  std::uint64_t failed_generations = 0;                 // of those
  std::uint64_t lifetime_generations = 0, lifetime_failed = 0;
  TimeFigures generation_time;
  std::optional<double> avg_performance_score;  // a failed one scores 0
  std::optional<double> success_rate;           // percent that met the target; a failed one did not
  std::optional<ScoreTrend> score_trend;        // from five generations on
  TimeFigures step_time;                        // of the last steps, of all generations
};
// With their keys and ours.
std::string to_json(const GenerationSummary& summary);

// One generation against an earlier one. A percentage or factor that would divide by zero, or of a
// side that failed or was not measured, is absent.
struct GenerationComparison {
  GenerationMetrics before, after;
  std::optional<double> total_time_percent, per_step_time_percent;  // positive: faster
  double performance_score_change = 0;
  bool target_status_change = false;  // met now, and was not
  std::optional<bool> faster;
  std::optional<double> improvement_factor;  // before over after
  bool meets_target_now = false;
  bool significant_improvement = false;  // above kSignificantPercent
  static constexpr double kSignificantPercent = 50;
};
GenerationComparison compare_generations(const GenerationMetrics& before,
                                         const GenerationMetrics& after);
std::string to_json(const GenerationComparison& comparison);

// The lines that generation monitors print, without pictograms; names are made safe for a terminal.
std::string to_text(const GenerationMetrics& metrics);

// What export_metrics_to_json() writes.
struct GenerationExport {
  std::optional<GenerationMetrics> current_metrics;
  std::vector<GenerationMetrics> history;  // oldest first
  std::vector<double> step_times;          // seconds, oldest first
};
std::string to_json(const GenerationMetrics& metrics);
// Reads it back, and files of older generation monitors, which have no history.
Result<GenerationExport> parse_generation_metrics(std::string_view json,
                                                  std::string_view file_name);
Result<GenerationExport> load_generation_metrics(const std::string& path);  // at most 64 MiB

}  // namespace genscope

#include <fmt/format.h>

#include <genscope/advise.h>
#include <genscope/internal/no_memory.h>
#include <genscope/monitor.h>
#include <genscope/record.h>

#include "base/file.h"
#include "monitor/generation/diagnose.h"
#include "monitor/generation/export.h"
#include "monitor/generation/hub.h"
#include "monitor/generation/open_here.h"

namespace genscope {

GenerationMonitor::GenerationMonitor(GenerationMonitorOptions options)
    : hub_(std::make_shared<monitor::GenerationHub>(std::move(options))) {}
GenerationMonitor::~GenerationMonitor() = default;
GenerationMonitor::GenerationMonitor(const GenerationMonitor&) = default;
GenerationMonitor& GenerationMonitor::operator=(const GenerationMonitor&) = default;

ScopedGeneration GenerationMonitor::monitor_generation(const GenerationSettings& settings) {
  return ScopedGeneration(begin(settings, true));
}

Generation GenerationMonitor::start(const GenerationSettings& settings) {
  return begin(settings, false);
}

Generation GenerationMonitor::begin(const GenerationSettings& settings, bool scoped) {
  try {
    return Generation(hub_, hub_->start(settings, scoped));
  } catch (const std::bad_alloc&) {
    internal::count_lost(1, 0);
    return {};
  }
}

LoadScope GenerationMonitor::track_model_load(std::string_view name) {
  return LoadScope(hub_, false, name);
}
LoadScope GenerationMonitor::track_pipeline_setup(std::string_view name) {
  return LoadScope(hub_, true, name);
}

Advice GenerationMonitor::diagnose(const GenerationMetrics& metrics) const {
  return advise(monitor::facts_of_generation(metrics, hub_->summary()));
}

bool GenerationMonitor::validate_performance_target(double seconds) const noexcept {
  return seconds <= hub_->options.target.high_seconds;
}

std::optional<GenerationMetrics> GenerationMonitor::get_current_metrics() const {
  return hub_->last();
}
GenerationSummary GenerationMonitor::get_performance_summary() const { return hub_->summary(); }
std::vector<GenerationMetrics> GenerationMonitor::get_history() const { return hub_->history(); }

Result<GenerationComparison> GenerationMonitor::get_before_after_comparison(
    const GenerationMetrics& before) const {
  const std::optional<GenerationMetrics> after = hub_->last();
  if (!after) {
    return Error{ErrorCode::not_found,
                 "no generation has ended yet; compare after the first, or after an import"};
  }
  return compare_generations(before, *after);
}

Status GenerationMonitor::export_metrics_to_json(const std::string& path) const {
  return base::write_file(path, monitor::export_json(hub_->exported(), hub_->summary()));
}

Status GenerationMonitor::import_metrics_from_json(const std::string& path) {
  Result<GenerationExport> read = load_generation_metrics(path);
  if (!read) return read.error();
  hub_->import(*std::move(read));
  return Done{};
}

void GenerationMonitor::reset_metrics() { hub_->reset_last(); }
void GenerationMonitor::clear_history() { hub_->clear_history(); }

void GenerationMonitor::log_performance_metrics(
    const std::vector<std::pair<std::string, double>>& values) {
  for (const auto& [name, value] : values) counter(name, value);
}

void GenerationMonitor::start_timing() {
  std::unique_ptr<Generation> owned(new (std::nothrow) Generation);
  if (owned == nullptr) return internal::count_lost(1, 0);
  *owned = start();
  Generation* const generation = owned.get();
  monitor::list_here({hub_->number, generation, std::move(owned)});
}

std::optional<double> GenerationMonitor::end_timing() {
  const monitor::OpenHere* const open = monitor::find_here(hub_->number, true);
  if (open == nullptr) return std::nullopt;
  Generation* const generation = open->generation;
  const double seconds = generation->end().total_generation_time;
  monitor::close_here(generation);
  return seconds;
}

void GenerationMonitor::start_step_timing() noexcept {
  if (const auto* open = monitor::find_here(hub_->number, false)) open->generation->begin_step();
}

std::optional<double> GenerationMonitor::end_step_timing() noexcept {
  const auto* const open = monitor::find_here(hub_->number, false);
  return open != nullptr ? open->generation->end_step() : std::nullopt;
}

const GenerationTarget& GenerationMonitor::target() const noexcept { return hub_->options.target; }

GenerationMonitor create_mmdit_performance_monitor(double target_time) {
  GenerationMonitorOptions options;
  options.target.high_seconds = target_time;
  options.generation.architecture_type = "MMDiT";
  return GenerationMonitor(std::move(options));
}

ScopedGeneration monitor_generation_performance(
    std::string_view model_name, double target_time, std::string_view architecture_type,
    std::uint64_t num_steps, std::pair<std::uint64_t, std::uint64_t> resolution) {
  GenerationMonitorOptions options;
  options.target.high_seconds = target_time;
  options.generation = {.model_name = std::string(model_name),
                        .architecture_type = std::string(architecture_type),
                        .num_steps = num_steps,
                        .width = resolution.first,
                        .height = resolution.second};
  return GenerationMonitor(std::move(options)).monitor_generation();
}

}  // namespace genscope

// What is kept of one rank, from an Inferix report.
#include <algorithm>

#include <genscope/compat/inferix.h>

#include "analyze/aggregate/waits.h"
#include "analyze/statistics/statistics.h"
#include "compat/inferix/energy.h"

namespace genscope {
namespace {

using Figures = std::vector<std::pair<std::string, double>>;

// Mean and greatest of what samples have it.
template <class Samples, class Value>
void add_samples(const Samples& samples, Value value, const char* mean, const char* max,
                 Figures& figures) {
  double sum = 0, greatest = 0;
  std::size_t count = 0;
  for (const auto& sample : samples) {
    if (const std::optional<double>& v = sample.*value) {
      sum += *v;
      greatest = count == 0 ? *v : std::max(greatest, *v);
      ++count;
    }
  }
  if (count == 0) return;
  if (mean != nullptr) figures.emplace_back(mean, sum / static_cast<double>(count));
  if (max != nullptr) figures.emplace_back(max, greatest);
}

void add_samples(const InferixReport& report, RankFigures& out) {
  using Gpu = InferixReport::GpuSample;
  using Cpu = InferixReport::CpuSample;
  Figures& f = out.figures;
  add_samples(report.gpu, &Gpu::memory_used_bytes, nullptr, "gpu_memory_peak_bytes", f);
  add_samples(report.gpu, &Gpu::busy_ratio, "gpu_busy_ratio", nullptr, f);
  add_samples(report.gpu, &Gpu::temperature_celsius, nullptr, "gpu_temperature_peak_celsius", f);
  add_samples(report.gpu, &Gpu::power_watts, "gpu_power_watts", nullptr, f);
  add_samples(report.cpu, &Cpu::busy_ratio, "machine_cpu_busy_ratio", nullptr, f);
  add_samples(report.cpu, &Cpu::memory_used_bytes, nullptr, "machine_memory_peak_bytes", f);
  const compat::inferix::SampledEnergy energy = compat::inferix::sampled_energy(report);
  if (energy.joules) f.emplace_back("energy_joules", *energy.joules);
  if (!energy.note.empty()) out.notes.push_back(energy.note);
}

}  // namespace

RankFigures rank_figures(const InferixReport& report) {
  RankFigures out;
  out.source = report.path;
  out.run = report.session;
  out.name = report.session;
  out.rank = report.rank;
  out.world_size = report.world_size;
  out.closed = report.end_seconds.has_value() || report.duration_seconds.has_value();
  constexpr double kMaxSeconds = 9e9;  // what nanoseconds in 63 bits hold
  const auto ns = [&](double s) { return static_cast<std::int64_t>(s * 1e9); };
  if (report.duration_seconds && *report.duration_seconds >= 0 &&
      *report.duration_seconds < kMaxSeconds) {
    out.wall_ns = ns(*report.duration_seconds);
  }
  if (report.begin_seconds && *report.begin_seconds >= 0 && *report.begin_seconds < kMaxSeconds) {
    out.begin_unix_ns = ns(*report.begin_seconds);
  }
  for (const InferixReport::Stage& stage : report.stages) {
    out.stage_seconds.emplace_back("stage/" + stage.name, stage.total_seconds);
    const analysis::WaitName wait = analysis::wait_name(stage.name, SpanKind::stage);
    if (wait.kind == analysis::WaitKind::input) {
      out.input_seconds = out.input_seconds.value_or(0) + stage.total_seconds;
    } else if (wait.kind != analysis::WaitKind::none) {
      out.collective_seconds = out.collective_seconds.value_or(0) + stage.total_seconds;
      out.collectives += stage.calls;
    }
  }
  if (!report.step_seconds.empty()) {
    out.steps = report.step_seconds.size();
    out.step_p50_seconds = stats::quantile(report.step_seconds, 0.5);
  }
  if (report.frames) out.figures.emplace_back("frames", static_cast<double>(*report.frames));
  add_samples(report, out);
  for (const auto& said : report.summary) {
    const bool known = std::any_of(out.figures.begin(), out.figures.end(),
                                   [&](const auto& figure) { return figure.first == said.first; });
    if (!known) out.figures.emplace_back(said.first, said.second);
  }
  out.notes.insert(out.notes.end(), report.notes.begin(), report.notes.end());
  return out;
}

}  // namespace genscope

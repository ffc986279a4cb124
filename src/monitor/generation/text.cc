#include <fmt/format.h>

#include <genscope/monitor.h>

#include "base/characters.h"

namespace genscope {
namespace {

// What others wrote, with what a terminal would obey taken out.
std::string shown(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const base::Character next = base::next_character(text);
    if (base::is_unsafe(next.code)) {
      out += '?';
    } else {
      out += next.bytes;
    }
    text.remove_prefix(next.bytes.size());
  }
  return out;
}

std::string headline(TargetStatus status) {
  switch (status) {
    case TargetStatus::met:
      return "TARGET MET";
    case TargetStatus::missed:
      return "TARGET MISSED";
    case TargetStatus::missed_2x:
      return "TARGET MISSED by more than 2x";
    case TargetStatus::failed:
      break;
  }
  return "FAILED";
}

}  // namespace

std::string to_text(const GenerationMetrics& m) {
  std::string out = fmt::format("Generation Performance Summary - {}\n", headline(m.status));
  if (!m.failure.empty()) out += fmt::format("   Failure: {}\n", shown(m.failure));
  out += fmt::format("   Model: {} ({})\n", m.model_name.empty() ? "not told" : shown(m.model_name),
                     m.architecture_type.empty() ? "unknown" : shown(m.architecture_type));
  out += fmt::format("   Total Time: {:.3f}s (target: {:.1f}s)\n", m.total_generation_time,
                     m.target_generation_time);
  if (m.generation_time_per_step) {
    out += fmt::format("   Per Step: {:.3f}s ({} steps)\n", *m.generation_time_per_step,
                       m.steps_measured > 0 ? m.steps_measured : m.num_inference_steps);
  }
  out += fmt::format("   Performance Score: {:.1f}/100\n", m.performance_score);
  if (m.gpu_memory_used_gb && m.gpu_memory_total_gb && m.gpu_memory_utilization_percent) {
    out += fmt::format("   GPU Memory: {:.2f}GB / {:.1f}GB ({:.1f}%)\n", *m.gpu_memory_used_gb,
                       *m.gpu_memory_total_gb, *m.gpu_memory_utilization_percent);
  } else if (!m.gpu_absent.empty()) {
    out += fmt::format("   GPU Memory: not measured, {}\n", shown(m.gpu_absent));
  }
  if (m.system_memory_used_gb && m.system_memory_utilization_percent) {
    out += fmt::format("   System Memory: {:.2f}GB ({:.1f}%)\n", *m.system_memory_used_gb,
                       *m.system_memory_utilization_percent);
  }
  return out;
}

}  // namespace genscope

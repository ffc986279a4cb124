#include "compat/operations/summary.h"

#include <fmt/format.h>

#include <genscope/analyze.h>

#include "base/characters.h"
#include "base/printable.h"

namespace genscope::compat::training {
namespace {

constexpr std::size_t kTableWidth = 90;
constexpr std::size_t kNameColumns = 30;

// An operation's name, safe for a terminal, in exactly kNameColumns.
std::string name_cell(std::string_view operation) {
  const std::string name = base::shorten(base::printable(operation), kNameColumns);
  return name + std::string(kNameColumns - base::columns(name), ' ');
}

// "+76.9"; "n/a" for what was not measured.
std::string signed_mb(std::optional<double> mb) { return mb ? fmt::format("{:+.1f}", *mb) : "n/a"; }
std::string plain_mb(std::optional<double> mb) { return mb ? fmt::format("{:.1f}", *mb) : "n/a"; }

std::string performance_table(const Measured& measured) {
  const std::string thick(kTableWidth, '='), thin(kTableWidth, '-');
  std::string out = fmt::format("{}\nPERFORMANCE SUMMARY\n{}\n{}\n{}\n", thick, thick,
                                "Operation                      Time (s)     CPU (MB)        "
                                "GPU (MB)        GPU Peak",
                                thin);
  for (const OperationMetrics& m : metrics_of(measured)) {
    out += fmt::format("{} {:>10.3f}  {:>13}  {:>13}  {:>10}\n", name_cell(m.operation),
                       m.duration_seconds, signed_mb(m.cpu_delta_mb), signed_mb(m.gpu_delta_mb),
                       plain_mb(m.gpu_peak_mb));
  }
  return out +
         fmt::format("{}\n{:<30} {:>10.3f}s\n{}\n", thin, "TOTAL", measured.total_seconds(), thick);
}

std::string aggregate_table(const Measured& measured) {
  const std::string thick(kTableWidth, '='), thin(kTableWidth, '-');
  std::string out = fmt::format(
      "{}\nAGGREGATE STATISTICS (for repeated operations)\n{}\n{}\n{}\n", thick, thick,
      "Operation                      Count    Total (s)    Mean (s)     Min (s)      Max (s)",
      thin);
  for (const OperationStatistics& s : statistics_of(measured)) {
    if (!s.aggregate) continue;
    out += fmt::format("{} {:<8} {:<12} {:<12.3f} {:<12.3f} {:.3f}\n", name_cell(s.operation),
                       s.count, fmt::format("{:>6.3f}", s.total_seconds), s.mean_seconds,
                       s.min_seconds, s.max_seconds);
  }
  return out + thick + "\n";
}

std::string verdict(double share) {
  if (share > kBottleneckShare) return "bottleneck";
  return share > kConsiderShare ? "consider" : "";
}

}  // namespace

std::string document_summary(const Measured& measured, bool show_aggregate) {
  const bool aggregates = show_aggregate && measured.has_aggregates();
  std::string out;
  if (!measured.singles.empty() || !aggregates) out += performance_table(measured);
  if (aggregates) out += aggregate_table(measured);
  return out;
}

std::string full_summary(const Measured& measured, const std::string& gpu_reason) {
  std::string out = fmt::format(
      "{:<30} {:>8} {:>10} {:>10} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} "
      "{:>9} {:>9}\n",
      "operation", "calls", "total s", "self s", "share", "mean s", "p50 s", "p95 s", "max s",
      "CPU MB", "GPU MB", "GPU peak");
  for (const OperationStatistics& s : statistics_of(measured)) {
    std::string line = fmt::format(
        "{} {:>8} {:>10.3f} {:>10.3f} {:>5.1f}% {:>9.4f} {:>9.4f} {:>9.4f} {:>9.4f} {:>9} {:>9} "
        "{:>9}",
        name_cell(s.operation), s.count, s.total_seconds, s.self_seconds, 100 * s.share,
        s.mean_seconds, s.p50_seconds, s.p95_seconds, s.max_seconds, signed_mb(s.cpu_delta_mb),
        signed_mb(s.gpu_delta_mb), plain_mb(s.gpu_peak_mb));
    if (s.failed > 0) line += fmt::format("  {} failed", s.failed);
    if (const std::string word = verdict(s.share); !word.empty()) line += "  " + word;
    out += line + "\n";
  }
  out += fmt::format("total {:.3f} s, nested operations counted once\n", measured.total_seconds());
  if (!gpu_reason.empty()) out += fmt::format("GPU figures are absent: {}\n", gpu_reason);
  return out;
}

std::string one_shot(const OperationMetrics& m) {
  std::string line =
      fmt::format("[Performance] {}: {:.3f}s", base::printable(m.operation), m.duration_seconds);
  if (m.cpu_delta_mb) line += fmt::format(", CPU {:+.1f}MB", *m.cpu_delta_mb);
  if (m.gpu_delta_mb) line += fmt::format(", GPU {:+.1f}MB", *m.gpu_delta_mb);
  if (m.failed > 0) line += ", failed";
  line += "\n";
  if (m.gpu_peak_mb) line += fmt::format("              GPU peak: {:.1f}MB\n", *m.gpu_peak_mb);
  return line;
}

}  // namespace genscope::compat::training

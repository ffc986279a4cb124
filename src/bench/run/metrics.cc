// Metrics by name. A name ends in its unit ("_s", "_bytes", "_ratio"); a suite may ask for the same
// quantity in another unit of its kind, and gets the value converted.
#include <algorithm>
#include <array>
#include <set>

#include <genscope/bench.h>

#include "analyze/statistics/statistics.h"
#include "base/suggest.h"
#include "bench/run/metric_names.h"

namespace genscope::bench {
namespace {

constexpr Direction kLow = Direction::lower_is_better, kHigh = Direction::higher_is_better;

constexpr std::array kKnownMetrics = {
    Metric{"latency_s", "s", kLow, "time"},
    Metric{"own_s", "s", kLow, "time without waiting for a CPU"},
    Metric{"cpu_s", "s", kLow, "CPU time"},
    Metric{"user_s", "s", kLow, "user CPU time"},
    Metric{"system_s", "s", kLow, "system CPU time"},
    Metric{"cycles", "", kLow, "clock cycles"},
    Metric{"instructions", "", kLow, "instructions"},
    Metric{"rss_peak_bytes", "bytes", kLow, "peak memory"},
    Metric{"io_read_bytes", "bytes", kLow, "disk reads"},
    Metric{"io_write_bytes", "bytes", kLow, "disk writes"},
    Metric{"energy_j", "J", kLow, "GPU energy"},
    Metric{"energy_net_j", "J", kLow, "GPU energy above idle"},
    Metric{"energy_idle_j", "J", kLow, "GPU energy of idling"},
    Metric{"vram_peak_bytes", "bytes", kLow, "peak GPU memory"},
    Metric{"rss_peak_bytes_per_image", "bytes", kLow, "peak memory per image"},
    Metric{"vram_peak_bytes_per_image", "bytes", kLow, "peak GPU memory per image"},
    Metric{"energy_j_per_image", "J", kLow, "GPU energy per image, above idle"},
    Metric{"cost_usd_per_image", "USD", kLow, "cost per image"},
    Metric{"gpu_util_ratio", "", kHigh, "GPU use"},
    Metric{"ttft_s", "s", kLow, "time to first token"},
    Metric{"tpot_s", "s", kLow, "time per token"},
    Metric{"achieved_per_s", "", kHigh, "throughput"},
    Metric{"goodput_per_s", "", kHigh, "goodput"},
    Metric{"failed_ratio", "", kLow, "failed requests"},
    Metric{"success_ratio", "", kHigh, "runs that succeed"},
};

struct MetricEnding {
  std::string_view ending, base;  // "_ms" is a thousandth of "_s"
  double times;                   // the base's value times this is in this unit
  std::string_view unit;
};
constexpr std::array kEndings = {
    MetricEnding{"_s", "_s", 1, "s"},
    MetricEnding{"_ms", "_s", 1e3, "ms"},
    MetricEnding{"_us", "_s", 1e6, "us"},
    MetricEnding{"_ns", "_s", 1e9, "ns"},
    MetricEnding{"_bytes", "_bytes", 1, "bytes"},
    MetricEnding{"_kb", "_bytes", 1e-3, "KB"},
    MetricEnding{"_mb", "_bytes", 1e-6, "MB"},
    MetricEnding{"_gb", "_bytes", 1e-9, "GB"},
    MetricEnding{"_mib", "_bytes", 1.0 / (1 << 20), "MiB"},
    MetricEnding{"_gib", "_bytes", 1.0 / (1 << 30), "GiB"},
    MetricEnding{"_ratio", "_ratio", 1, ""},
    MetricEnding{"_pct", "_ratio", 100, "%"},
    MetricEnding{"_j", "_j", 1, "J"},
    MetricEnding{"_kj", "_j", 1e-3, "kJ"},
    MetricEnding{"_wh", "_j", 1.0 / 3600, "Wh"},
};

// The longest ending that fits.
const MetricEnding* ending_of(std::string_view name) {
  const MetricEnding* best = nullptr;
  for (const MetricEnding& one : kEndings) {
    if (!name.ends_with(one.ending)) continue;
    if (best == nullptr || one.ending.size() > best->ending.size()) best = &one;
  }
  return best;
}

bool higher_is_better(std::string_view name) {
  for (const std::string_view word :
       {"per_s", "per_second", "_fps", "throughput", "goodput", "success", "util_", "_score",
        "clip", "ssim", "psnr", "attainment", "per_kwh"}) {
    if (name.find(word) != std::string_view::npos) return true;
  }
  return false;
}

constexpr std::string_view kStagePrefix = "stage.";

// "stage.denoise.step_s" of a sample's stages.
std::optional<double> stage_value(const Sample& sample, std::string_view name) {
  if (!name.starts_with(kStagePrefix)) return std::nullopt;
  name.remove_prefix(kStagePrefix.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto part = sample.stages.find(std::string(name.substr(0, dot)));
  if (part == sample.stages.end()) return std::nullopt;
  const std::string_view what = name.substr(dot + 1);
  if (what == "total_s") return part->second.seconds;
  if (what != "step_s" || part->second.steps == 0) return std::nullopt;
  return part->second.seconds / static_cast<double>(part->second.steps);
}

std::optional<double> plain_value(const Sample& sample, std::string_view name) {
  if (const auto found = sample.metrics.find(std::string(name)); found != sample.metrics.end()) {
    return found->second;
  }
  return stage_value(sample, name);
}

bool good(const Unit& unit, const Sample& sample) { return !unit.failure && !sample.failure; }

// Whether its first thread computed all the time. Of what waits, sleeps or leaves the work to a
// GPU, cycles say nothing about the time.
bool is_busy(const Measured& all) {
  constexpr double kBusyShare = 0.9;
  if (all.own_time.empty() || all.own_time.size() != all.cpu_time.size()) return false;
  for (std::size_t i = 0; i < all.own_time.size(); ++i) {
    if (all.cpu_time[i] < kBusyShare * all.own_time[i]) return false;
  }
  return true;
}

}  // namespace

// `words` of an unknown name is the name itself, which is why that must live as long.
Metric metric(std::string_view name) {
  for (const Metric& one : kKnownMetrics) {
    if (one.name == name) return one;
  }
  Metric made{name, "", higher_is_better(name) ? kHigh : kLow, name};
  const MetricEnding* const ending = ending_of(name);
  if (ending == nullptr || name.ends_with("per_s")) return made;
  made.unit = ending->unit;
  for (const Metric& one : kKnownMetrics) {  // "latency_ms" is a time, too
    const std::string_view stem = one.name.substr(0, one.name.size() - ending->base.size());
    if (one.name.ends_with(ending->base) &&
        name.substr(0, name.size() - ending->ending.size()) == stem) {
      made.words = one.words;
      made.direction = one.direction;
    }
  }
  return made;
}

std::string meant_metric(std::string_view name) {
  constexpr std::size_t kLongestName = 64;  // the cost is a product of lengths
  if (name.size() > kLongestName || name.starts_with(kStagePrefix)) return "";
  const MetricEnding* const ending = ending_of(name);
  std::vector<std::string> known;
  for (const Metric& one : kKnownMetrics) {
    known.emplace_back(one.name);
    if (ending == nullptr || !one.name.ends_with(ending->base)) continue;
    known.back().replace(one.name.size() - ending->base.size(), std::string::npos, ending->ending);
  }
  const bool is_known = std::find(known.begin(), known.end(), name) != known.end();
  return is_known ? "" : base::nearest(name, known);
}

std::optional<double> value_of(const Sample& sample, std::string_view name) {
  if (const auto plain = plain_value(sample, name)) return plain;
  const MetricEnding* const asked = ending_of(name);
  if (asked == nullptr) return std::nullopt;
  const std::string_view stem = name.substr(0, name.size() - asked->ending.size());
  for (const MetricEnding& other : kEndings) {
    if (other.base != asked->base || other.ending == asked->ending) continue;
    const auto value = plain_value(sample, std::string(stem) + std::string(other.ending));
    if (value) return *value / other.times * asked->times;
  }
  return std::nullopt;
}

std::vector<double> unit_values(const Cell& cell, char slot, std::string_view metric) {
  std::vector<double> values, of_unit;
  for (const Unit& unit : cell.units) {
    if (unit.slot != slot || unit.failure) continue;
    of_unit.clear();
    for (const Sample& sample : unit.samples) {
      if (!good(unit, sample)) continue;
      if (const auto value = value_of(sample, metric)) of_unit.push_back(*value);
    }
    if (const auto median = stats::quantile(of_unit, 0.5)) values.push_back(*median);
  }
  return values;
}

std::vector<std::string> metrics_of(const Cell& cell, char slot) {
  std::set<std::string> found;
  for (const Unit& unit : cell.units) {
    if (unit.slot != slot) continue;
    for (const Sample& sample : unit.samples) {
      if (!good(unit, sample)) continue;
      for (const auto& [key, value] : sample.metrics) found.insert(key);
      for (const auto& [stage, part] : sample.stages) {
        found.insert("stage." + stage + ".total_s");
        if (part.steps > 0) found.insert("stage." + stage + ".step_s");
      }
    }
  }
  std::vector<std::string> ordered;
  for (const Metric& one : kKnownMetrics) {  // the known ones first, in their order
    if (found.erase(std::string(one.name)) > 0) ordered.emplace_back(one.name);
  }
  ordered.insert(ordered.end(), found.begin(), found.end());
  return ordered;
}

Measured measured(const Cell& cell, char slot, std::string_view metric) {
  Measured all;
  all.values = unit_values(cell, slot, metric);
  if (metric != "latency_s") return all;
  const auto beside = [&](std::string_view other) {
    std::vector<double> values = unit_values(cell, slot, other);
    return values.size() == all.values.size() ? values : std::vector<double>();
  };
  all.own_time = beside("own_s");
  all.cpu_time = beside("cpu_s");
  if (is_busy(all)) all.cycles = beside("cycles");
  return all;
}

}  // namespace genscope::bench

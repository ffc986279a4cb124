#include "report/telemetry_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/format.h"
#include "report/printable.h"
#include "trace/metrics.h"

namespace genscope::report {
namespace {

std::string bytes_of(double value) { return bytes(static_cast<std::uint64_t>(value)); }

using Figure = double SeriesRow::*;

std::string show(const EntityRow& row, const char* metric, Figure figure,
                 std::string (*format)(double)) {
  const std::optional<double> value = row.value(metric, figure);
  return value ? format(*value) : "n/a";
}

std::string celsius(double value) { return fmt::format("{:.0f} C", value); }

void add_tree(const Analysis& analysis, const EntityRow& tree, std::vector<Fact>& facts) {
  if (const auto cpu = tree.value("cpu_ns", &SeriesRow::max)) {
    std::string text = duration(*cpu);
    if (analysis.wall_ns > 0) {
      text +=
          fmt::format(", {} cores on average", cores(*cpu / static_cast<double>(analysis.wall_ns)));
    }
    facts.push_back({"CPU", text});
  }
  const std::string time = time_text(analysis.resources.time);
  if (!time.empty()) facts.push_back({"time", time});
  if (const auto peak = tree.value("rss_bytes", &SeriesRow::max)) {
    std::string text = bytes_of(*peak) + " at the peak";
    const auto anon = tree.value("rss_anon_bytes", &SeriesRow::max);
    if (anon) text += ", " + bytes_of(*anon) + " of it anonymous";
    facts.push_back({"memory", text});
  }
  const auto read = tree.value("io_read_bytes", &SeriesRow::max);
  const auto written = tree.value("io_write_bytes", &SeriesRow::max);
  if (read && written) {
    facts.push_back({"storage", bytes_of(*read) + " read, " + bytes_of(*written) + " written"});
  }
  const auto processes = tree.value("processes", &SeriesRow::max);
  const auto threads = tree.value("threads", &SeriesRow::max);
  if (processes && threads) {
    facts.push_back(
        {"seen", counted(static_cast<std::uint64_t>(*processes), "process", "processes") + ", " +
                     counted(static_cast<std::uint64_t>(*threads), "thread", "threads") +
                     " at once"});
  }
}

}  // namespace

std::string time_text(const TimeSplit& time) {
  if (!time.on_cpu_share) return "";
  constexpr double kNothing = 0.005;
  const auto whole = [](double share) { return fmt::format("{:.0f}%", share * 100); };
  std::string text = whole(*time.on_cpu_share) + " on a CPU";
  const auto part = [&](const std::optional<double>& share, const char* what) {
    if (share && *share >= kNothing) text += ", " + whole(*share) + what;
  };
  part(time.ready_share, " ready for one");
  part(time.storage_share, " on storage");
  part(time.other_share, " asleep or waiting");
  return text;
}

std::vector<Fact> usage_facts(const Analysis& analysis) {
  std::vector<Fact> facts;
  const Telemetry& telemetry = analysis.telemetry;
  if (const EntityRow* tree = telemetry.first(EntityKind::process_tree)) {
    add_tree(analysis, *tree, facts);
  }
  if (const EntityRow* group = telemetry.first(EntityKind::cgroup)) {
    const auto limit = group->value("memory_limit_bytes", &SeriesRow::last);
    const auto used = group->value("memory_used_bytes", &SeriesRow::max);
    if (limit && used) {
      facts.push_back({"limit", bytes_of(*limit) + " of memory, " + bytes_of(*used) +
                                    " of it used at most by the control group"});
    }
    const auto cores = group->value("cpu_limit_cores", &SeriesRow::last);
    const auto held = group->value("cpu_throttled_ns", &SeriesRow::growth);
    if (cores && held && *held > 0) {
      facts.push_back(
          {"quota", fmt::format("{:.3g} cores; held back for {}", *cores, duration(*held))});
    }
  }
  if (const EntityRow* machine = telemetry.first(EntityKind::machine)) {
    const auto busy = machine->value("cpu_busy_ratio", &SeriesRow::mean);
    const auto cpus = machine->value("cpu_count", &SeriesRow::last);
    const auto total = machine->value("memory_total_bytes", &SeriesRow::last);
    const auto left = machine->value("memory_available_bytes", &SeriesRow::min);
    std::string text;
    if (cpus && busy) text = fmt::format("{:.0f} CPUs, {} busy", *cpus, percent(*busy));
    if (total && left) {
      text += fmt::format("{}{} of memory, at least {} available", text.empty() ? "" : "; ",
                          bytes_of(*total), bytes_of(*left));
    }
    if (!text.empty()) facts.push_back({"machine", text});
  }
  if (const auto joules = telemetry.joules()) {
    facts.push_back({"energy", energy(*joules) + " by all devices that tell it"});
  }
  return facts;
}

Table device_table(const Telemetry& telemetry) {
  Table table({{"device", true, 0},
               {"memory peak", false, 0},
               {"of", false, 3},
               {"busy", false, 0},
               {"power", false, 1},
               {"energy", false, 0},
               {"temp max", false, 2},
               {"throttled", false, 4}});
  for (const EntityRow& row : telemetry.entities) {
    const EntityKind kind = row.entity.kind;
    const bool gpu = kind == EntityKind::gpu || kind == EntityKind::gpu_instance;
    if (!gpu && kind != EntityKind::cpu_package) continue;
    const SeriesRow* const throttle = row.find("throttle_reasons");
    std::string throttled = "n/a";
    if (throttle != nullptr && throttle->covered_seconds > 0) {
      throttled = percent(throttle->flagged_seconds / throttle->covered_seconds);
      const std::string words = trace::throttle_words(static_cast<double>(throttle->bits));
      if (!words.empty()) throttled += " (" + words + ")";
    }
    const bool known = row.energy && row.energy->joules;
    table.add({printable(row.entity.name.empty() ? row.entity.id : row.entity.name),
               show(row, "memory_used_bytes", &SeriesRow::max, bytes_of),
               show(row, "memory_total_bytes", &SeriesRow::last, bytes_of),
               show(row, "busy_ratio", &SeriesRow::mean, percent),
               show(row, "power_watts", &SeriesRow::mean, watts),
               known ? energy(*row.energy->joules) : "n/a",
               show(row, "temperature_celsius", &SeriesRow::max, celsius), throttled});
  }
  return table;
}

Table own_metrics_table(const Telemetry& telemetry) {
  Table table({{"metric", true},
               {"of", true},
               {"unit", true},
               {"values"},
               {"first"},
               {"last"},
               {"min"},
               {"mean"},
               {"max"}});
  for (const EntityRow& entity : telemetry.entities) {
    const std::string of = entity.entity.name.empty() ? entity.entity.id : entity.entity.name;
    for (const SeriesRow& row : entity.series) {
      if (!is_own(entity, row)) continue;
      const auto figure = [&](double value) { return row.count > 0 ? number(value) : "n/a"; };
      table.add({printable(row.metric->id), printable(of), printable(row.metric->unit),
                 count(row.count), figure(row.first), figure(row.last), figure(row.min),
                 figure(row.mean), figure(row.max)});
    }
  }
  return table;
}

std::vector<std::string> telemetry_sentences(const Telemetry& telemetry) {
  std::vector<std::string> sentences;
  for (const AllocatorRow& row : telemetry.allocators) {
    if (!row.reserved_bytes) continue;
    std::string text = fmt::format("Allocator of {}: {} reserved at the peak",
                                   printable(row.device), bytes_of(*row.reserved_bytes));
    const auto part = [&](const std::optional<double>& value, const char* what) {
      if (value) text += fmt::format(", {} {}", bytes_of(*value), what);
    };
    part(row.allocated_bytes, "of it allocated");
    part(row.parts.cache_slack_bytes, "cache slack");
    part(row.parts.rounding_bytes, "rounding");
    part(row.parts.pinned_bytes, "pinned by fragmentation");
    part(row.parts.outside_bytes, "outside the allocator");
    if (row.retries && *row.retries > 0) text += fmt::format(", {:.0f} retries", *row.retries);
    if (row.ooms && *row.ooms > 0) text += fmt::format(", {:.0f} out of memory", *row.ooms);
    sentences.push_back(text + ".");
  }
  for (const EntityRow& row : telemetry.entities) {
    if (!row.energy) continue;
    const std::string name = printable(row.entity.name.empty() ? row.entity.id : row.entity.name);
    if (!row.energy->note.empty()) sentences.push_back(name + ": " + row.energy->note + ".");
    const double all = row.energy->covered_seconds + row.energy->uncovered_seconds;
    if (row.energy->joules && row.energy->uncovered_seconds > 0.1 * all) {
      sentences.push_back(fmt::format("{}: energy covers {} of {}.", name,
                                      duration(row.energy->covered_seconds * 1e9),
                                      duration(all * 1e9)));
    }
  }
  // Comings and goings of processes are in the JSON; what went wrong is for everyone.
  std::map<std::string, std::size_t> told;
  for (const TelemetryEvent& event : telemetry.events) {
    if (event.name.starts_with("process_")) continue;
    if (told[event.name]++ >= 3) continue;
    sentences.push_back(fmt::format("At {}: {} {}{}{}.",
                                    duration(std::max<std::int64_t>(0, event.at_ns)),
                                    printable(event.entity), printable(event.name),
                                    event.detail.empty() ? "" : ", ", printable(event.detail)));
  }
  return sentences;
}

}  // namespace genscope::report

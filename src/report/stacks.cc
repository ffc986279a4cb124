#include "report/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include <genscope/report.h>

#include "report/format.h"
#include "report/json_values.h"
#include "report/printable.h"

namespace genscope {
namespace report {
namespace {

constexpr std::size_t kMostOnScreen = 4, kMostRows = 20;
constexpr double kLeastOnScreen = 0.03;
constexpr double kMostlyWaits = 0.2;  // CPU time over time: below it a function waits
constexpr std::size_t kPlaceWidth = 40;

std::string place(const std::string& file, std::uint32_t line) {
  if (file.empty()) return "";
  const std::string name = file.substr(file.rfind('/') + 1);
  return line > 0 ? fmt::format("{}:{}", name, line) : name;
}

std::string words(const SampledFunction& row) {
  const std::string where = place(row.file, row.line);
  return shorten(printable(row.name), kPlaceWidth) +
         (where.empty() ? "" : fmt::format(" ({})", printable(where)));
}

double share(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

bool waits(const SampledFunction& row) {
  return share(row.self_cpu_ns, row.self_ns) < kMostlyWaits;
}

}  // namespace

std::string sampled_line(const Analysis& analysis) {
  const Sampled& sampled = analysis.sampled;
  const bool stages = !analysis.stage_tree.nodes.empty();
  const auto part = stages ? &SampledFunction::outside_ns : &SampledFunction::self_ns;
  const std::int64_t all = stages ? sampled.outside_ns : sampled.main_ns;
  if (all <= 0) return "";
  std::vector<const SampledFunction*> rows;
  for (const SampledFunction& row : sampled.functions) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [&](auto* a, auto* b) { return a->*part > b->*part; });
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), kMostOnScreen); ++i) {
    const double of_all = share(rows[i]->*part, all);
    if (of_all < kLeastOnScreen) break;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", percent(of_all), words(*rows[i]),
                        waits(*rows[i]) ? ", waiting" : "");
  }
  if (text.empty()) return "";
  return stages ? "outside stages: " + text : text;
}

Section sampled_section(const Analysis& analysis) {
  const Sampled& sampled = analysis.sampled;
  Section out("Functions, by samples");
  if (sampled.processes == 0) return out;
  if (sampled.samples == 0) {
    if (!sampled.stopped.empty()) {
      out.sentences.push_back("No stack was sampled: " + printable(sampled.stopped.front()) + ".");
    }
    return out;
  }
  out.sentences.push_back(fmt::format(
      "{} of {} in {}, {:g} a second asked for. Self and total are time of main threads, waits "
      "included; CPU is of all threads. C functions count for the Python function that called "
      "them.",
      counted(sampled.samples, "stack", "stacks"), counted(sampled.threads, "thread", "threads"),
      counted(sampled.processes, "process", "processes"), sampled.rate));
  if (sampled.main_ns > 0 && !analysis.stage_tree.nodes.empty()) {
    out.sentences.push_back(fmt::format("{} of that time no stage was open ({}).",
                                        percent(share(sampled.outside_ns, sampled.main_ns)),
                                        duration(sampled.outside_ns)));
  }
  if (sampled.own_cpu_ns > 0) {
    out.sentences.push_back(
        fmt::format("Sampling took {} of CPU time.", duration(sampled.own_cpu_ns)));
  }
  if (sampled.late > 0) {
    out.sentences.push_back(
        fmt::format("{} came late, {} in all: a C function held Python's lock, or the CPUs were "
                    "busy. The stack is "
                    "the one where the lock was given back.",
                    counted(sampled.late, "sample", "samples"), duration(sampled.late_ns)));
  }
  if (sampled.folded + sampled.left_out > 0) {
    out.sentences.push_back(fmt::format(
        "{} counted for their callers, because there were too many different ones; {} of many "
        "threads had no turn.",
        counted(sampled.folded, "stack is", "stacks are"),
        counted(sampled.left_out, "look", "looks")));
  }
  for (const std::string& reason : sampled.stopped) {
    out.sentences.push_back("Sampling ended early: " + printable(reason) + ".");
  }
  out.table = Table({{"function", true, 0},
                     {"where", true, 1},
                     {"self", false, 0},
                     {"share", false, 0},
                     {"total", false, 2},
                     {"CPU", false, 3},
                     {"outside stages", false, 4}});
  const auto& rows = sampled.functions;
  const std::size_t shown = std::min(rows.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const SampledFunction& row = rows[i];
    out.table.add({printable(row.name),
                   row.file.empty() ? "-" : printable(place(row.file, row.line)),
                   duration(row.self_ns, true),
                   sampled.main_ns > 0 ? percent(share(row.self_ns, sampled.main_ns)) : "-",
                   duration(row.total_ns, true), duration(row.self_cpu_ns, true),
                   duration(row.outside_ns, true)});
  }
  out.left_out = rows.size() - shown;
  return out;
}

nlohmann::ordered_json sampled_json(const Sampled& sampled) {
  if (sampled.processes == 0) return nullptr;
  Json nodes = Json::array();
  for (const SampledNode& node : sampled.nodes) {
    nodes.push_back({{"name", node.name},
                     {"kind", node.kind == SampledNode::Kind::thread  ? "thread"
                              : node.kind == SampledNode::Kind::stage ? "stage"
                                                                      : "function"},
                     {"file", text_or_null(node.file)},
                     {"line", node.line > 0 ? Json(node.line) : Json(nullptr)},
                     {"parent", node.parent == kNone ? Json(nullptr) : Json(node.parent)},
                     {"wall_ns", node.wall_ns},
                     {"cpu_ns", node.cpu_ns}});
  }
  Json functions = Json::array();
  for (const SampledFunction& row : sampled.functions) {
    functions.push_back({{"name", row.name},
                         {"file", text_or_null(row.file)},
                         {"line", row.line > 0 ? Json(row.line) : Json(nullptr)},
                         {"self_ns", row.self_ns},
                         {"total_ns", row.total_ns},
                         {"self_cpu_ns", row.self_cpu_ns},
                         {"total_cpu_ns", row.total_cpu_ns},
                         {"outside_ns", row.outside_ns}});
  }
  return {{"processes", sampled.processes},
          {"threads", sampled.threads},
          {"samples", sampled.samples},
          {"rate", sampled.rate},
          {"period_ns", sampled.period_ns > 0 ? Json(sampled.period_ns) : Json(nullptr)},
          {"main_ns", sampled.main_ns},
          {"outside_ns", sampled.outside_ns},
          {"cpu_ns", sampled.cpu_ns},
          {"own_cpu_ns", sampled.own_cpu_ns},
          {"late", sampled.late},
          {"late_ns", sampled.late_ns},
          {"folded", sampled.folded},
          {"left_out", sampled.left_out},
          {"stopped", sampled.stopped},
          {"nodes", std::move(nodes)},
          {"nodes_left_out", sampled.nodes_left_out},
          {"functions", std::move(functions)}};
}

}  // namespace report

namespace {

using report::Json;

// A line or a frame of others' formats: no separators of theirs in it.
std::string label(const SampledNode& node) {
  std::string text = report::printable(node.name);
  if (!node.file.empty()) {
    text += node.line > 0 ? fmt::format(" ({}:{})", report::printable(node.file), node.line)
                          : fmt::format(" ({})", report::printable(node.file));
  }
  std::replace(text.begin(), text.end(), ';', ',');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

void stacks_collapsed(const Analysis& analysis, const Sink& sink) {
  const auto& nodes = analysis.sampled.nodes;
  std::vector<std::string> paths(nodes.size());  // a parent comes before its children
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string above = nodes[i].parent == kNone ? "" : paths[nodes[i].parent] + ";";
    paths[i] = above + label(nodes[i]);
    const std::int64_t us = nodes[i].self_wall_ns / 1000;
    if (us > 0) sink(fmt::format("{} {}\n", paths[i], us));
  }
}

void stacks_speedscope(const Run& run, const Analysis& analysis, const Sink& sink) {
  const auto& nodes = analysis.sampled.nodes;
  Json frames = Json::array(), profiles = Json::array();
  std::vector<std::vector<std::size_t>> paths(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const SampledNode& node = nodes[i];
    Json frame = {{"name", node.name}};
    if (!node.file.empty()) frame["file"] = node.file;
    if (node.line > 0) frame["line"] = node.line;
    frames.push_back(std::move(frame));
    if (node.kind == SampledNode::Kind::thread) {
      profiles.push_back({{"type", "sampled"},
                          {"name", node.name + ", stacks added up"},
                          {"unit", "nanoseconds"},
                          {"startValue", 0},
                          {"endValue", node.wall_ns},
                          {"samples", Json::array()},
                          {"weights", Json::array()}});
    } else if (node.parent != kNone) {
      paths[i] = paths[node.parent];
      paths[i].push_back(i);
    }
    if (node.self_wall_ns <= 0 || profiles.empty()) continue;
    profiles.back()["samples"].push_back(paths[i]);
    profiles.back()["weights"].push_back(node.self_wall_ns);
  }
  const Json out = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                    {"name", run.name},
                    {"exporter", "genscope"},
                    {"activeProfileIndex", 0},
                    {"shared", {{"frames", std::move(frames)}}},
                    {"profiles", std::move(profiles)}};
  sink(out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace genscope

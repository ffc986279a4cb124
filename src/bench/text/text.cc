#include "bench/text/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "analyze/statistics/statistics.h"
#include "bench/output/words.h"
#include "bench/run/gpu_meter.h"
#include "report/format.h"
#include "report/printable.h"

namespace genscope::bench {
namespace {

class CommandsText {
 public:
  CommandsText(const BenchResult& result, const TextOptions& options)
      : result_(result), options_(options) {}

  std::string make() {
    sides();
    for (const Cell& cell : result_.cells) {
      if (result_.cells.size() > 1) heading(cell);
      show(cell);
    }
    if (result_.cells.size() > 1) fastest();
    environment();
    return std::move(out_);
  }

 private:
  std::string bold(const std::string& text) const {
    return options_.color ? "\x1b[1m" + text + "\x1b[0m" : text;
  }
  void paragraph(const std::string& text) {
    if (!text.empty()) out_ += report::wrap(report::printable(text), options_.width) + "\n";
  }
  std::string label(const std::string& key) const {
    const auto found = result_.labels.find(key);
    return found == result_.labels.end() ? key : found->second;
  }

  void sides() {
    if (!result_.labels.contains("B")) return;
    for (const char* const side : {"A", "B"}) paragraph(fmt::format("{}: {}", side, label(side)));
    out_ += "\n";
  }

  // What a cell is called: its parameters, or the command that it ran.
  std::string title(const Cell& cell) const {
    std::string text = result_.labels.contains(cell.id) ? label(cell.id) : "";
    for (const auto& [key, value] : cell.params) {
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
    }
    return text.empty() ? cell.id : text;
  }

  void heading(const Cell& cell) {
    out_ +=
        (&cell == &result_.cells.front() ? "" : "\n") + bold(report::printable(title(cell))) + "\n";
  }

  void show(const Cell& cell) {
    const bool two = cell.stats.contains('A') && cell.stats.contains('B');
    failures(cell);
    std::string sentence = two ? change_headline(result_, cell) : cell_headline(cell, "It");
    if (sentence.empty() && !cell.failure) sentence = "Nothing was measured.";
    if (!sentence.empty())
      out_ += bold(report::wrap(report::printable(sentence), options_.width)) + "\n";
    const std::string table = metric_table(result_, cell, options_);
    if (!table.empty()) out_ += "\n" + table;
    const Comparison* const time = find_comparison(result_, cell.id, "latency_s");
    if (time != nullptr && time->stage_attribution) {
      out_ += "\n" + stage_table(*time->stage_attribution, options_);
      for (const std::string& note : time->stage_attribution->notes) paragraph(note);
    } else if (!two) {
      stages(cell);
    }
    std::string below;
    std::swap(below, out_);
    warmup(cell);
    absent(cell);
    idle_power(cell);
    clock(cell);
    if (time != nullptr) {
      for (const std::string& note : time->judgement.notes) paragraph(note);
    }
    out_ = below + (out_.empty() ? "" : "\n" + out_);
  }

  // Of one side: medians of each stage that was recorded.
  void stages(const Cell& cell) {
    const auto stats = cell.stats.find('A');
    if (stats == cell.stats.end()) return;
    std::string line;
    const auto text_of = [&](const std::string& name) -> std::string {
      const auto found = stats->second.find(name);
      return found == stats->second.end() ? "" : figure(name, found->second.median);
    };
    for (const auto& [name, s] : stats->second) {
      if (!name.starts_with("stage.") || !name.ends_with(".total_s")) continue;
      const std::string stage = name.substr(6, name.size() - 6 - 8);
      const std::string step = text_of("stage." + stage + ".step_s");
      line += fmt::format("{}{} {}{}", line.empty() ? "" : ", ", stage, text_of(name),
                          step.empty() ? "" : fmt::format(" ({} a step)", step));
    }
    if (line.empty()) return;
    out_ += "\n";
    paragraph("Stages: " + line + ".");
  }

  void failures(const Cell& cell) {
    std::map<char, std::size_t> failed, all;
    std::map<char, std::string> first;
    for (const Unit& unit : cell.units) {
      for (const Sample& sample : unit.samples) {
        ++all[unit.slot];
        if (!sample.failure || sample.failure->kind == FailureClass::cancelled) continue;
        if (++failed[unit.slot] == 1) {
          first[unit.slot] = fmt::format("{}, {}", name(sample.failure->kind),
                                         report::printable(sample.failure->detail.substr(
                                             0, sample.failure->detail.find('\n'))));
        }
      }
    }
    if (cell.status == "failed" && cell.failure) {
      paragraph(fmt::format("It failed ({}):", name(cell.failure->kind)));
      for (const std::string& line : lines_of(cell.failure->detail)) {
        out_ += "  " + report::printable(line) + "\n";
      }
      return;
    }
    if (cell.status == "cancelled") paragraph("Interrupted: this is what was measured until then.");
    for (const auto& [slot, count] : failed) {
      paragraph(fmt::format("{} of {} runs{} failed and did not count: {}.", count, all[slot],
                            cell.stats.contains('B') ? fmt::format(" of {}", slot) : "",
                            first[slot]));
    }
  }

  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t from = 0;
    while (from <= text.size()) {
      const std::size_t end = std::min(text.find('\n', from), text.size());
      lines.push_back(text.substr(from, end - from));
      from = end + 1;
    }
    if (lines.size() > 10) lines.erase(lines.begin() + 1, lines.end() - 9);
    return lines;
  }

  void warmup(const Cell& cell) {
    std::map<char, std::string> times;
    std::map<char, std::size_t> counts;
    for (const Unit& unit : cell.units) {
      for (const double took : unit.warmup_s) {
        if (++counts[unit.slot] > 4) continue;
        std::string& text = times[unit.slot];
        text += (text.empty() ? "" : ", ") + figure("latency_s", took);
      }
    }
    if (times.empty()) return;
    std::string text;
    for (const auto& [slot, list] : times) {
      const std::string more =
          counts[slot] > 4 ? fmt::format(" and {} more", counts[slot] - 4) : "";
      text += fmt::format("{}{}{}{}", text.empty() ? "" : "; ",
                          cell.stats.contains('B') ? fmt::format("{} ", slot) : "", list, more);
    }
    paragraph("Warm-up, not counted: " + text + ".");
  }

  // What a reader would look for. That a machine has no GPU is no news.
  void absent(const Cell& cell) {
    if (cell.stats.empty()) return;
    for (const char* const key : {"rss_peak_bytes", "io_write_bytes", "energy_j"}) {
      const auto found = cell.absent.find(key);
      if (found == cell.absent.end() || found->second == kNoGpu) continue;
      paragraph(fmt::format("Not measured: {}: {}.", metric(key).words, found->second));
    }
  }

  // What was taken off the GPUs' energy.
  void idle_power(const Cell& cell) {
    const std::vector<double> idle = unit_values(cell, 'A', "energy_idle_j");
    const std::vector<double> time = unit_values(cell, 'A', "latency_s");
    if (idle.empty() || idle.size() != time.size()) return;
    std::vector<double> watts;
    for (std::size_t i = 0; i < idle.size(); ++i) watts.push_back(idle[i] / time[i]);
    paragraph(fmt::format(
        "Idle GPUs took {:.0f} W before the first run; the energy above idle leaves that out.",
        *stats::quantile(watts, 0.5)));
  }

  // Whether a clock moved can only be told by counting cycles; said where it would matter.
  void clock(const Cell& cell) {
    const auto why = cell.absent.find("cycles");
    const Comparison* const c = find_comparison(result_, cell.id, "latency_s");
    if (why == cell.absent.end() || c == nullptr) return;
    if (c->judgement.verdict != Verdict::regressed && c->judgement.verdict != Verdict::improved)
      return;
    paragraph(fmt::format("Whether the CPU's clock moved cannot be known: {}.", why->second));
  }

  // Of several commands, measured in turns.
  void fastest() {
    if (result_.labels.contains("B")) return;
    std::vector<std::pair<double, const Cell*>> times;
    for (const Cell& cell : result_.cells) {
      const auto side = cell.stats.find('A');
      if (side == cell.stats.end() || !side->second.contains("latency_s")) continue;
      times.emplace_back(side->second.at("latency_s").median, &cell);
    }
    if (times.size() < 2) return;
    std::sort(times.begin(), times.end());
    out_ += "\n";
    paragraph(bold(fmt::format("{} is the fastest.", title(*times[0].second))));
    const auto fast = unit_values(*times[0].second, 'A', "latency_s");
    for (std::size_t i = 1; i < times.size(); ++i) {
      const auto slow = unit_values(*times[i].second, 'A', "latency_s");
      JudgeOptions in_turns;
      in_turns.interleaved = true;
      const Judgement j = judge(fast, slow, in_turns);
      const std::string by = j.ratio && j.interval ? speed_text(*j.ratio, *j.interval, j.confidence)
                             : j.ratio             ? speed_text(*j.ratio)
                                                   : "not comparable";
      paragraph(fmt::format("  {} is {}", title(*times[i].second), by));
    }
    paragraph("They ran in turns; `genscope bench ab` judges two of them, stage by stage.");
  }

  void environment() {
    const std::vector<std::string> doubts = machine_doubts(result_.environment);
    if (doubts.empty()) return;
    out_ += "\n";
    paragraph(fmt::format("This machine: {}.", fmt::join(doubts, ", ")));
  }

  const BenchResult& result_;
  const TextOptions& options_;
  std::string out_;
};

}  // namespace

std::string commands_text(const BenchResult& result, const TextOptions& options) {
  return CommandsText(result, options).make();
}

}  // namespace genscope::bench

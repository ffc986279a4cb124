#include "bench/http/load_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/printable.h"
#include "report/format.h"
#include "report/table.h"

namespace genscope::bench {
namespace {

constexpr const char* kShownRanks[] = {"p50", "p90", "p95", "p99", "p99.9"};

std::string time_text(double seconds) { return report::duration(seconds * 1e9); }

void add_row(report::Table& table, const char* title, const std::map<std::string, double>& values) {
  if (values.empty()) return;
  std::vector<std::string> cells = {title};
  for (const char* const rank : kShownRanks) {
    const auto found = values.find(rank);
    cells.push_back(found == values.end() ? "" : time_text(found->second));
  }
  table.add(std::move(cells));
}

std::string bold(const std::string& text, bool color) {
  return color ? "\033[1m" + text + "\033[0m" : text;
}

std::string failures_text(const LoadResultSummary& summary) {
  std::string kinds;
  for (const auto& [kind, n] : summary.failures) {
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", report::count(n), kind);
  }
  return kinds.empty() ? "none failed" : "failed: " + kinds;
}

std::string heads_text(const LoadRun& run, const LoadResultSummary& summary) {
  std::string out;
  const auto line = [&](const char* title, const std::string& text) {
    out += fmt::format("  {:<13} {}\n", title, text);
  };
  line("offered", (summary.offered_per_s ? rate_text(*summary.offered_per_s) + ", " : "") +
                      arrival_words(run.arrivals, run.cv, run.concurrency, run.samples_per_query));
  line("answered", fmt::format("{}; {}, {}", rate_text(summary.achieved_per_s),
                               report::counted(summary.requests, "request", "requests"),
                               failures_text(summary)));
  if (summary.goodput_per_s) {
    line("goodput", fmt::format("{} within the SLO", rate_text(*summary.goodput_per_s)));
  }
  const auto tokens = summary.metrics.find("tokens_per_s");
  if (tokens != summary.metrics.end() && tokens->second.contains("mean")) {
    line("tokens", rate_text(tokens->second.at("mean")));
  }
  const auto& delay = summary.schedule_delay_s;
  if (delay.contains("p50") && delay.contains("p99") && delay.contains("max")) {
    line("generator",
         fmt::format("late by {} (p50), {} (p99), {} (max)", time_text(delay.at("p50")),
                     time_text(delay.at("p99")), time_text(delay.at("max"))));
  }
  return out;
}

}  // namespace

std::string arrival_words(Arrivals arrivals, double cv, std::size_t users,
                          std::size_t samples_per_query) {
  switch (arrivals) {
    case Arrivals::closed:
      return fmt::format(
          "closed loop, {}{}", report::counted(users, "user", "users"),
          samples_per_query > 1 ? fmt::format(", {} requests at a time", samples_per_query) : "");
    case Arrivals::poisson:
      return "Poisson arrivals";
    case Arrivals::gamma:
      return fmt::format("gamma arrivals (cv {:g})", cv);
    case Arrivals::constant:
      return "constant arrivals";
    case Arrivals::trace:
      return "arrivals of a trace";
    case Arrivals::at_once:
      return "all at once";
  }
  return "";
}

std::string rate_text(double per_s) {
  if (per_s >= 1000) return report::count(static_cast<std::uint64_t>(std::llround(per_s))) + "/s";
  return fmt::format("{:.3g}/s", per_s);
}

std::string load_text(const LoadRun& run, const LoadResultSummary& summary,
                      const LoadTextOptions& options) {
  std::string out = bold(load_sentence(summary), options.color) + "\n";
  if (summary.requests == 0) return out;
  out += "\n" + heads_text(run, summary) + "\n";
  std::vector<report::Table::Column> columns = {{"latency", true, 0}};
  for (const char* const rank : kShownRanks) columns.push_back({rank, false, 0});
  report::Table table(std::move(columns));
  add_row(table, "from arrival", summary.from_arrival_s);
  add_row(table, "service", summary.service_s);
  for (const auto& [metric, title] :
       {std::pair{"ttft_s", "first token"}, std::pair{"tpot_s", "per token"}}) {
    const auto found = summary.metrics.find(metric);
    if (found != summary.metrics.end()) add_row(table, title, found->second);
  }
  if (!table.empty()) {
    out += table.render(report::text_width(options.width), options.color) + "\n";
  }
  if (!summary.refused.empty()) out += summary.refused + ".\n";
  for (const std::string& note : summary.notes) {
    out += "note: " + base::printable(note, base::Lines::keep) + "\n";
  }
  return out;
}

std::string peak_text(const Peak& peak, const Slo& slo, const LoadTextOptions& options) {
  const std::string asked =
      fmt::format("{} within {}", report::percent(slo.percentile), time_text(slo.latency_s));
  std::string head;
  if (peak.rate && peak.invalid) {
    head = fmt::format("Peak: {} keeps {}; {} does not.", rate_text(*peak.rate), asked,
                       rate_text(*peak.invalid));
  } else if (peak.rate) {
    head = fmt::format("Peak: at least {} keeps {}.", rate_text(*peak.rate), asked);
  } else if (peak.trials.empty()) {
    head = "Nothing was measured.";
  } else {
    head = fmt::format("No rate that was tried keeps {}.", asked);
  }
  std::string out = bold(head, options.color) + " Search: " + peak.ended + ".\n\n";
  report::Table table({{"rate", true, 0},
                       {"SLO", true, 0},
                       {"attained", false, 0},
                       {"requests", false, 0},
                       {"failed", false, 1},
                       {"p50", false, 2},
                       {"p99", false, 2}});
  for (const PeakTrial& trial : peak.trials) {
    // Of a trial that was ended early, those who still waited are in no figure.
    const auto rank = [&](const char* key) {
      const auto found = trial.summary.from_arrival_s.find(key);
      const bool known = !trial.gave_up && found != trial.summary.from_arrival_s.end();
      return known ? time_text(found->second) : std::string();
    };
    const auto& attained = trial.summary.slo_attainment;
    table.add({rate_text(trial.rate),
               trial.valid     ? "met"
               : trial.gave_up ? "missed, ended early"
                               : "missed",
               attained && !trial.gave_up ? report::percent(*attained) : "",
               report::count(trial.summary.requests), report::count(trial.summary.failed),
               rank("p50"), rank("p99")});
  }
  if (!table.empty()) out += table.render(report::text_width(options.width), options.color);
  return out;
}

}  // namespace genscope::bench

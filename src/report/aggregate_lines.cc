#include "report/aggregate_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/format.h"
#include "report/printable.h"

namespace genscope::report {
namespace {

using Labelled = std::vector<std::pair<std::string, std::string>>;

std::string seconds(double value) { return duration(value * 1e9, true); }
std::string seconds(const std::optional<double>& value) { return value ? seconds(*value) : "-"; }

std::string joules(double value) {
  return value < 3600 ? fmt::format("{:.3g}J", value) : fmt::format("{:.3g}Wh", value / 3600);
}

// By the unit that ends the name.
std::string value_text(std::string_view name, double value) {
  if (name.ends_with("_seconds")) return seconds(value);
  if (name.ends_with("_bytes")) return bytes(value > 0 ? static_cast<std::uint64_t>(value) : 0);
  if (name.ends_with("_ratio")) return percent(value);
  if (name.ends_with("_watts")) return fmt::format("{:.3g}W", value);
  if (name.ends_with("_joules")) return joules(value);
  if (name.ends_with("_celsius")) return fmt::format("{:.3g}C", value);
  return number(value);
}

std::string skew_text(double skew) { return skew > 0 ? fmt::format("{:.2f}x", skew) : "-"; }

void add_list(const char* label, const std::vector<std::string>& list, std::size_t limit,
              Labelled& out) {
  for (std::size_t i = 0; i < std::min(limit, list.size()); ++i) {
    out.emplace_back(label, printable(list[i]));
  }
  if (list.size() > limit) {
    out.emplace_back(label, fmt::format("and {} more", count(list.size() - limit)));
  }
}

// "rank 2", "ranks 2, 5-7 and 90 more".
std::string missing_text(const Aggregate& aggregate) {
  constexpr std::size_t kMostParts = 16;
  std::string text;
  std::uint64_t told = 0;
  std::size_t parts = 0;
  const std::vector<int>& m = aggregate.missing;
  for (std::size_t i = 0; i < m.size() && parts < kMostParts; ++parts) {
    std::size_t last = i;
    while (last + 1 < m.size() && m[last + 1] == m[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", m[i]);
    if (last > i) text += fmt::format("-{}", m[last]);
    told += last - i + 1;
    i = last + 1;
  }
  if (told < aggregate.missing_count) {
    text += fmt::format(" and {} more", count(aggregate.missing_count - told));
  }
  return (aggregate.missing_count == 1 ? "rank " : "ranks ") + text;
}

std::string state_of(const RankFigures& rank) {
  if (rank.running) return "running";
  if (!rank.closed) return "not closed";
  if (rank.exit_code && *rank.exit_code != 0 && rank.run_processes <= 1) {
    return fmt::format("exit {}", *rank.exit_code);
  }
  return rank.failed_spans > 0 ? "failed" : "fine";
}

}  // namespace

std::string aggregate_title(const Aggregate& aggregate) {
  const bool ranked = std::all_of(aggregate.rows.begin(), aggregate.rows.end(),
                                  [](const RankFigures& row) { return row.rank.has_value(); });
  std::string text = ranked ? counted(aggregate.ranks, "rank", "ranks")
                            : counted(aggregate.ranks, "process", "processes");
  text += " of " + counted(aggregate.runs, "run", "runs");
  if (aggregate.world_size) text += fmt::format(", world size {}", *aggregate.world_size);
  return text;
}

Labelled aggregate_problems(const Aggregate& aggregate, std::size_t limit) {
  Labelled out;
  if (aggregate.missing_count > 0) out.emplace_back("missing", missing_text(aggregate));
  add_list("failed", aggregate.failed, limit, out);
  add_list("unread", aggregate.unread, limit, out);
  add_list("twice", aggregate.duplicate, limit, out);
  add_list("note", aggregate.notes, limit, out);
  return out;
}

Labelled straggler_lines(const Aggregate& aggregate, std::size_t limit) {
  Labelled out;
  if (aggregate.stragglers.empty()) {
    const bool several = aggregate.ranks > 1;
    const auto has = [&](std::string_view name) {
      return std::any_of(aggregate.figures.begin(), aggregate.figures.end(),
                         [&](const AcrossRanks& row) { return row.name == name && row.ranks > 1; });
    };
    std::string why = "one rank: nothing to compare";
    if (several && aggregate.compared == 0) {
      why = "no two ranks of a job ran at the same time: nothing to compare";
    } else if (several && has("collective_seconds")) {
      why = "no rank waits so much less in collectives than the others";
    } else if (several && has("step_p50_seconds")) {
      why =
          "no collectives were marked, and no rank's steps are 1.25 times as long as the median's";
    } else if (several) {
      why = "neither collectives nor steps were marked";
    }
    out.emplace_back("none", why);
    return out;
  }
  std::size_t victims = 0;
  for (const Straggler& one : aggregate.stragglers) {
    if (one.role == "victim" && ++victims > limit) continue;
    out.emplace_back(one.role, printable(one.rank) + ": " + printable(one.why));
  }
  if (victims > limit) {
    out.emplace_back("victim", fmt::format("and {} more", count(victims - limit)));
  }
  return out;
}

std::vector<std::string> clock_lines(const Aggregate& aggregate, std::size_t limit) {
  std::vector<std::string> out;
  std::uint64_t same = 0, unknown = 0;
  std::vector<const ClockOffset*> measured;
  for (const ClockOffset& clock : aggregate.clocks) {
    if (clock.method == "same boot") {
      ++same;
    } else if (clock.error_seconds) {
      measured.push_back(&clock);
    } else {
      ++unknown;
    }
  }
  const std::string reference = printable(aggregate.clock_reference);
  if (same > 0) {
    out.push_back(fmt::format("{} {} the clock of {} (same boot)", counted(same, "rank", "ranks"),
                              same == 1 ? "shares" : "share", reference));
  }
  std::stable_sort(measured.begin(), measured.end(), [](const auto* a, const auto* b) {
    return std::abs(a->offset_seconds) > std::abs(b->offset_seconds);
  });
  for (std::size_t i = 0; i < std::min(limit, measured.size()); ++i) {
    const ClockOffset& c = *measured[i];
    out.push_back(fmt::format("{} is {} {} {}, +- {} (from {} collectives)", printable(c.rank),
                              seconds(std::abs(c.offset_seconds)),
                              c.offset_seconds < 0 ? "behind" : "ahead of", reference,
                              seconds(*c.error_seconds), c.meetings));
  }
  if (measured.size() > limit) {
    out.push_back(fmt::format("and {} more that differ less", count(measured.size() - limit)));
  }
  if (unknown > 0) {
    out.push_back(fmt::format("{} compared by Unix clocks, error unknown",
                              counted(unknown, "rank", "ranks")));
  }
  return out;
}

Table stage_rows(const Aggregate& aggregate, std::size_t limit) {
  Table table({{"stage", true},
               {"ranks", false, 3},
               {"min", false, 2},
               {"median"},
               {"max"},
               {"mean", false, 4},
               {"skew"},
               {"longest on", true}});
  const auto& rows = aggregate.stages;
  for (std::size_t i = 0; i < std::min(limit, rows.size()); ++i) {
    const AcrossRanks& row = rows[i];
    table.add({printable(row.name), count(row.ranks), seconds(row.min), seconds(row.median),
               seconds(row.max), seconds(row.mean), skew_text(row.skew), printable(row.max_rank)});
  }
  if (rows.size() > limit) {
    table.add({fmt::format("and {} more", count(rows.size() - limit)), "", "", "", "", "", "", ""});
  }
  return table;
}

Table figure_rows(const Aggregate& aggregate) {
  Table table({{"figure", true},
               {"ranks", false, 3},
               {"min"},
               {"median"},
               {"max"},
               {"mean", false, 4},
               {"skew", false, 2},
               {"most on", true}});
  for (const AcrossRanks& row : aggregate.figures) {
    const auto text = [&](double value) { return value_text(row.name, value); };
    table.add({printable(row.name), count(row.ranks), text(row.min), text(row.median),
               text(row.max), text(row.mean), skew_text(row.skew), printable(row.max_rank)});
  }
  return table;
}

Table rank_rows(const Aggregate& aggregate, std::size_t limit) {
  Table table({{"rank", true},
               {"host", true, 3},
               {"wall"},
               {"steps", false, 4},
               {"step p50"},
               {"in collectives"},
               {"for input", false, 2},
               {"state", true}});
  const auto& rows = aggregate.rows;
  for (std::size_t i = 0; i < std::min(limit, rows.size()); ++i) {
    const RankFigures& row = rows[i];
    table.add({printable(row.label), printable(row.host.empty() ? "-" : row.host),
               duration(row.wall_ns, true), row.steps ? count(*row.steps) : "-",
               seconds(row.step_p50_seconds), seconds(row.collective_seconds),
               seconds(row.input_seconds), state_of(row)});
  }
  if (aggregate.ranks > std::min<std::uint64_t>(limit, rows.size())) {
    const std::uint64_t more = aggregate.ranks - std::min<std::uint64_t>(limit, rows.size());
    table.add({fmt::format("and {} more", count(more)), "", "", "", "", "", "", ""});
  }
  return table;
}

std::string median_method(const Aggregate& aggregate) {
  const bool exact = std::all_of(aggregate.figures.begin(), aggregate.figures.end(),
                                 [](const AcrossRanks& row) { return row.exact; }) &&
                     std::all_of(aggregate.stages.begin(), aggregate.stages.end(),
                                 [](const AcrossRanks& row) { return row.exact; });
  if (exact) return "";
  return fmt::format("more than {} ranks: medians are of histograms, within 0.8% of the value",
                     count(kExactRanks));
}

}  // namespace genscope::report

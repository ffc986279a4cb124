#include "report/compare_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "report/format.h"
#include "report/printable.h"

namespace genscope::report {
namespace {

constexpr const char* kUnknown = "-";

std::string byte_text(double value) {
  constexpr double kMost = 1e18;
  return value >= 0 && value <= kMost ? bytes(static_cast<std::uint64_t>(value)) : number(value);
}

// Of a key that ends in its unit, the value as people read it.
std::string readable(const std::string& key, const std::string& value) {
  double parsed = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, parsed);
  if (error != std::errc{} || stop != end) return printable(value);
  if (key.ends_with("_bytes")) return byte_text(parsed);
  if (key.ends_with("_watts")) return number(parsed) + " W";
  return printable(value);
}

// Leaves out the words that two texts have in common at either end, so that what differs is not
// lost when they are shortened: "...--steps 8..." of two long commands.
void drop_common(std::string& before, std::string& after) {
  constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t head = 0, tail = 0,
              word = 0;  // a word before the difference stays: the option's name
  for (std::size_t i = 0; i < shorter && before[i] == after[i]; ++i) {
    if (before[i] == ' ') head = std::exchange(word, i + 1);
  }
  for (std::size_t i = 0; i < shorter - head; ++i) {
    const char c = before[before.size() - 1 - i];
    if (c != after[after.size() - 1 - i]) break;
    if (c == ' ') tail = i + 1;
  }
  for (std::string* text : {&before, &after}) {
    *text = text->substr(head, text->size() - head - tail);
    if (head > 0) text->insert(0, kEllipsis);
    if (tail > 0) *text += kEllipsis;
  }
}

std::string value_text(const std::optional<double>& value, const std::string& unit) {
  if (!value) return kUnknown;
  if (unit == "ns") return duration(*value, true);
  if (unit == "bytes") return byte_text(*value);
  if (unit == "joules") return fmt::format("{:.3g} J", *value);
  return number(*value);
}

std::string percent_text(const std::optional<double>& value) {
  if (!value) return kUnknown;
  return (*value < 0 ? "-" : "+") + percent(std::abs(*value) / 100);
}

std::string count_text(const ChangeRow& row) {
  if (row.before_count == row.after_count) return count(row.before_count);
  return count(row.before_count) + "/" + count(row.after_count);
}

std::string factor_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.3g}x", *value) : kUnknown;
}

bool is_judged(const ChangeRow& row) {
  return row.presence == Presence::both && row.before && row.after;
}

// Without the rounding errors of sums: what is below half a nanosecond is 0.
double whole_ns(double seconds) {
  const double ns = seconds * 1e9;
  return std::abs(ns) < 0.5 ? 0 : ns;
}

std::string signed_seconds(double seconds) {
  const double ns = whole_ns(seconds);
  return (ns < 0 ? "-" : "+") + duration(std::abs(ns), true);
}

std::vector<std::string> part_cells(const PartChange& part, const char* indent, bool counts) {
  const auto value = [&](double v) { return counts ? number(v) : duration(whole_ns(v), true); };
  std::string interval = kUnknown;
  if (part.interval) {
    interval = signed_seconds(part.interval->low) + " to " + signed_seconds(part.interval->high);
  }
  // Adding 0 makes 0 of -0.
  const std::string share =
      part.share ? fmt::format("{:.0f}%", std::round(*part.share * 100) + 0.0) : kUnknown;
  return {indent + printable(part.name),
          value(part.before),
          value(part.after),
          signed_seconds(part.difference),
          share,
          std::move(interval)};
}

std::string interval_text(const ChangeRow& row) {
  if (!row.factor_low || !row.factor_high) return kUnknown;
  return fmt::format("{:.3g} to {:.3g}", *row.factor_low, *row.factor_high);
}

}  // namespace

Table difference_table(const std::vector<Difference>& differences, std::size_t limit) {
  Table table({{"key", true}, {"before", true}, {"after", true}});
  for (const Difference& difference : differences) {
    const auto cell = [&](const std::optional<std::string>& value) {
      return value ? readable(difference.key, *value) : kUnknown;
    };
    std::string before = cell(difference.before), after = cell(difference.after);
    if (columns(before) > limit || columns(after) > limit) drop_common(before, after);
    table.add(
        {shorten(printable(difference.key), limit), shorten(before, limit), shorten(after, limit)});
  }
  return table;
}

Table change_table(const Comparison& comparison) {
  const bool single = one_run_each(comparison);
  Table table({{"name", true},
               {"kind", true, 3},
               {"count", false, 2},
               {"before"},
               {"after"},
               {"change"},
               {"factor", false, 1},
               {single ? "95 % of spans" : "95 %", false, 4},
               {single ? "" : "verdict", true}});
  const std::size_t shown = std::min(comparison.rows.size(), kMostChangeRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const ChangeRow& row = comparison.rows[i];
    table.add({printable(row.name), printable(row.kind), count_text(row),
               value_text(row.before, row.unit), value_text(row.after, row.unit),
               percent_text(row.percent), factor_text(row.factor), interval_text(row),
               single && is_judged(row) ? "" : verdict_word(row)});
  }
  return table;
}

Table attribution_table(const Comparison& comparison) {
  Table table({{"part", true},
               {"before"},
               {"after"},
               {"difference"},
               {"share", false, 1},
               {"95 %", false, 2}});
  if (!comparison.attribution) return table;
  const Attribution& all = *comparison.attribution;
  for (const PartChange& part : all.parts) {
    table.add(part_cells(part, "", false));
    for (const PartChange& of : part.of) {
      table.add(part_cells(of, "  ", of.name == "steps"));
    }
  }
  table.add(part_cells(all.total, "", false));
  return table;
}

std::string verdict_word(const ChangeRow& row) {
  const std::string_view word = row_verdict(row);
  if (word == name(Verdict::insufficient)) return "too few runs";
  std::string text(word);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

bool one_run_each(const Comparison& comparison) noexcept {
  return comparison.before.size() == 1 && comparison.after.size() == 1;
}

std::string interval_sentence(const Comparison& comparison) {
  for (const ChangeRow& row : comparison.rows) {
    if (row.interval_over != IntervalOver::spans) continue;
    return "The intervals cover the spans of these two runs, not other runs.";
  }
  return "";
}

std::string side_text(const std::vector<ComparedRun>& runs) {
  if (runs.size() == 1) {
    const ComparedRun& run = runs.front();
    std::string text = printable(run.name.empty() ? run.id : run.name);
    if (!run.path.empty()) text += (text.empty() ? "" : "  ") + printable(run.path);
    return text;
  }
  std::string text = counted(runs.size(), "run", "runs");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    text += (i == 0 ? ": " : ", ") + printable(runs[i].path.empty() ? runs[i].id : runs[i].path);
  }
  return text;
}

Headline headline_of(const Comparison& comparison) {
  const std::string text = printable(comparison.headline);
  const std::size_t end = text.find(". ");
  if (end == std::string::npos) return {text, ""};
  return {text.substr(0, end + 1), text.substr(end + 2)};
}

std::string drift_sentence(const Comparison& comparison) {
  if (comparison.env_changes == 0) return "";
  std::string keys;
  for (const Difference& difference : comparison.environment) {
    if (difference.decisive) keys += (keys.empty() ? "" : ", ") + printable(difference.key);
  }
  return fmt::format(
      "ENV-DRIFT: {} of library, driver, hardware or variable ({}); explain {} before the times.",
      counted(comparison.env_changes, "difference", "differences"), keys,
      comparison.env_changes == 1 ? "it" : "these");
}

std::string target_sentence(const BeforeAfter& figures) {
  if (!figures.before_target_met || !figures.after_target_met) return "";
  const auto side = [](double seconds, double score, bool is_met) {
    return fmt::format("{} ({}, score {:.3g})", duration(seconds * 1e9), is_met ? "met" : "missed",
                       score);
  };
  return fmt::format(
      "Target of a generation: {} before, {} after.",
      side(*figures.before_seconds, *figures.before_score, *figures.before_target_met),
      side(*figures.after_seconds, *figures.after_score, *figures.after_target_met));
}

}  // namespace genscope::report

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
  Table table({{"name", true},
               {"kind", true, 3},
               {"count", false, 2},
               {"before"},
               {"after"},
               {"change"},
               {"factor", false, 1},
               {"95 %", false, 4},
               {"verdict", true}});
  const std::size_t shown = std::min(comparison.rows.size(), kMostChangeRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const ChangeRow& row = comparison.rows[i];
    table.add({printable(row.name), printable(row.kind), count_text(row),
               value_text(row.before, row.unit), value_text(row.after, row.unit),
               percent_text(row.percent), factor_text(row.factor), interval_text(row),
               verdict_word(row)});
  }
  return table;
}

std::string verdict_word(const ChangeRow& row) {
  if (row.change != Change::inconclusive) return std::string(name(row.change));
  if (!row.before || !row.after) return "not measured";
  if (row.factor_low) return "inconclusive";
  return row.before_count == 1 && row.after_count == 1 ? "one pair" : "too few";
}

std::string verdict_of_both(Change verdict) {
  const std::string word(name(verdict));
  return verdict == Change::inconclusive ? word : word + " in these two runs";
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

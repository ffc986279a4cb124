#include "analyze/compare/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "analyze/compare/judge.h"

namespace genscope::analysis {
namespace {

constexpr std::string_view kOneRunEach =
    "This is one run each: record several of each, in turns, and compare them too, to learn "
    "whether "
    "it lasts.";

std::string time_text(double ns) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}};
  for (const auto& [scale, unit] : kUnits) {
    if (ns >= scale) return fmt::format("{:.4g} {}", ns / scale, unit);
  }
  return fmt::format("{:.4g} ns", ns);
}

// What the verdict is about.
struct Basis {
  std::string plural;  // "steady steps"
  const Sample* before = nullptr;
  const Sample* after = nullptr;
};

Basis find_basis(const RunSamples& before, const RunSamples& after) {
  if (before.steady.count > 0 && after.steady.count > 0) {
    return {"steady steps", &before.steady, &after.steady};
  }
  for (const SpanKind kind : {SpanKind::step, SpanKind::batch, SpanKind::request}) {
    const Sample &a = before.of(kind).sample, &b = after.of(kind).sample;
    if (a.count > 0 && b.count > 0) return {name_of_all(kind).substr(4), &a, &b};
  }
  return {};
}

bool is_longer(const ChangeRow& row) { return row.factor && *row.factor < 1; }

std::string factor_text(const ChangeRow& row) {
  if (!row.factor) return "";
  if (is_longer(row)) return fmt::format(", {:.3g} times as long", 1 / *row.factor);
  return fmt::format(", {:.3g} times as fast", *row.factor);
}

std::string interval_text(const ChangeRow& row, double noise_floor) {
  const bool longer = is_longer(row);
  const double low = longer ? 1 / *row.factor_high : *row.factor_low;
  const double high = longer ? 1 / *row.factor_low : *row.factor_high;
  std::string text = fmt::format(" (95 % {:.3g} to {:.3g})", low, high);
  if (row.change == Change::same) {
    text += fmt::format(", within the noise floor of {:.3g} %", noise_floor * 100);
  } else if (row.change == Change::inconclusive) {
    text += fmt::format(", which reaches over the noise floor of {:.3g} %", noise_floor * 100);
  }
  return text;
}

void judge_spans(const Basis& basis, Comparison& result) {
  const ChangeRow row = span_row(basis.plural, "", *basis.before, *basis.after, result.noise_floor);
  result.verdict = row.change;
  result.reason = fmt::format("The median of the {} went from {} to {}", basis.plural,
                              time_text(*row.before), time_text(*row.after));
  if (!row.factor_low) {
    result.reason +=
        fmt::format("; {} against {} are too few for an interval, which needs 4 against 4. {}",
                    row.before_count, row.after_count, kOneRunEach);
    return;
  }
  result.reason += factor_text(row) + interval_text(row, result.noise_floor);
  result.reason +=
      fmt::format(". The interval covers the {} and {} {} of these two runs, not other runs. {}",
                  row.before_count, row.after_count, basis.plural, kOneRunEach);
}

}  // namespace

void give_verdict(const Side& before, const Side& after, Comparison& result) {
  const Basis basis = find_basis(before.samples, after.samples);
  if (basis.before != nullptr) {
    judge_spans(basis, result);
    return;
  }
  result.verdict = Change::inconclusive;
  result.reason = "No steps, batches or requests finished in both runs";
  const std::int64_t a = before.analysis.wall_ns, b = after.analysis.wall_ns;
  if (a > 0 && b > 0) {
    result.reason +=
        fmt::format("; the wall time went from {} to {}, a single pair",
                    time_text(static_cast<double>(a)), time_text(static_cast<double>(b)));
  }
  result.reason += fmt::format(". {}", kOneRunEach);
}

}  // namespace genscope::analysis

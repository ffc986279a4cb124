#include "analyze/compare/judge.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyze/statistics/statistics.h"
#include "analyze/verdict/verdict.h"

namespace genscope {

std::string_view name(Presence presence) noexcept {
  switch (presence) {
    case Presence::both:
      break;
    case Presence::appeared:
      return "appeared";
    case Presence::vanished:
      return "vanished";
  }
  return "both";
}

std::string_view name(IntervalOver over) noexcept {
  switch (over) {
    case IntervalOver::none:
      break;
    case IntervalOver::runs:
      return "runs";
    case IntervalOver::spans:
      return "spans";
  }
  return "none";
}

std::string_view row_verdict(const ChangeRow& row) noexcept {
  if (row.presence != Presence::both) return name(row.presence);
  if (!row.before || !row.after) return "not measured";
  return name(row.judgement.verdict);
}

namespace analysis {
namespace {

std::vector<double> known(const Values& values) {
  std::vector<double> out;
  for (const std::optional<double>& value : values) {
    if (value) out.push_back(*value);
  }
  return out;
}

enum class Family : std::uint8_t { alone, main, rest };

Family family_of(const ChangeRow& row) {
  if (row.kind == "run" || row.kind == "cpu") return Family::alone;
  return says_what_a_run_does(row) ? Family::main : Family::rest;
}

bool moved(const Judgement& judgement) {
  return judgement.verdict == Verdict::regressed || judgement.verdict == Verdict::improved;
}

}  // namespace

bool says_what_a_run_does(const ChangeRow& row) {
  return row.kind == "stage" || row.kind == "load" || row.kind == "cpu" || row.kind == "memory" ||
         row.kind == "energy" || row.name.starts_with(kSteadyStep);
}

std::optional<Ratio> ratio_of(const Sample& before, const Sample& after) {
  constexpr double kRounding = 1e-9;
  constexpr std::size_t kLeastSpans = 3;  // on a side, however many the other has
  if (std::min(before.logs.size(), after.logs.size()) < kLeastSpans) return std::nullopt;
  const std::optional<stats::Shift> shift = stats::shift(before.logs, after.logs, kConfidence);
  if (!shift || shift->confidence < kConfidence - kRounding) return std::nullopt;
  return Ratio{std::exp(shift->low), std::exp(shift->high)};
}

RunOrder order_of(const Records& before, const Records& after) {
  std::vector<std::pair<std::int64_t, int>> begins;
  for (const RunRecord* run : before) begins.emplace_back(run->started_unix_ns, 0);
  for (const RunRecord* run : after) begins.emplace_back(run->started_unix_ns, 1);
  std::stable_sort(begins.begin(), begins.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  RunOrder order;
  order.paired = before.size() == after.size() && before.size() > 1;
  std::size_t turns = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    if (begins[i].first <= 0 || (i > 0 && begins[i].first == begins[i - 1].first)) return {};
    if (i > 0 && begins[i].second != begins[i - 1].second) ++turns;
    if (i % 2 == 1 && begins[i].second == begins[i - 1].second) order.paired = false;
  }
  order.interleaved = order.paired || (turns > 1 && turns >= std::min(before.size(), after.size()));
  return order;
}

JudgeOptions Judging::options(std::size_t before_values, std::size_t after_values) const {
  constexpr std::size_t kFewest = 3;
  JudgeOptions options;
  options.min_effect = noise_floor;
  options.confidence = kConfidence;
  options.few_by_student = std::min(before_values, after_values) >= kFewest;
  options.interleaved = order.interleaved;
  options.paired = order.paired && before_values == before_runs && after_values == after_runs;
  return options;
}

void judge_row(const Values& before, const Values& after, const Judging& judging, ChangeRow& row) {
  const std::vector<double> x = known(before), y = known(after);
  row.before_runs = x.size();
  row.after_runs = y.size();
  row.before = stats::quantile(x, 0.5);
  row.after = stats::quantile(y, 0.5);
  row.judgement = judge(x, y, judging.options(x.size(), y.size()));
  const Judgement& j = row.judgement;
  if (!j.ratio) return;
  row.percent = (*j.ratio - 1) * 100;
  row.factor = 1 / *j.ratio;
  if (!j.interval) return;
  row.factor_low = 1 / j.interval->high;
  row.factor_high = 1 / j.interval->low;
  row.interval_over = IntervalOver::runs;
}

void correct_rows(std::vector<ChangeRow>& rows) {
  for (const Family family : {Family::main, Family::rest}) {
    std::vector<Judgement> gates;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (family_of(rows[i]) != family || !rows[i].judgement.p_floor) continue;
      gates.push_back(rows[i].judgement);
      places.push_back(i);
    }
    correct_gates(gates);
    for (std::size_t i = 0; i < places.size(); ++i) rows[places[i]].judgement = gates[i];
  }
}

void excuse_rows(const Judgement& total, std::vector<ChangeRow>& rows) {
  if (total.verdict != Verdict::slower_machine || !total.ratio) return;
  const Verdict excused = *total.ratio > 1 ? Verdict::regressed : Verdict::improved;
  for (ChangeRow& row : rows) {
    if (row.unit != "ns" || row.kind == "cpu" || !moved(row.judgement) ||
        row.judgement.verdict != excused) {
      continue;
    }
    row.judgement.verdict = Verdict::inconclusive;
    row.judgement.reason += "; but one machine was slower, which explains the total";
  }
}

}  // namespace analysis
}  // namespace genscope

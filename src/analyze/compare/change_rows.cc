// Every row goes the same way: per run a Sample or a value is looked up, a side's are put beside
// each other, and judge_row() does the rest. Of one run each, the spans give an interval of their
// own.
#include "analyze/compare/change_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace genscope::analysis {
namespace {

using SampleKey = std::pair<SpanKind, std::string>;
using Samples = std::vector<const Sample*>;  // per run; null: the run has none

struct Pair {
  Samples before, after;
  double most_ns = 0;  // of one run
};
using Pairs = std::map<SampleKey, Pair>;

void put(Pairs& pairs, const Records& runs, Samples Pair::*side, std::size_t place) {
  for (const RowSample& row : runs[place]->samples.rows) {
    Pair& pair = pairs[{row.kind, row.name}];
    (pair.*side).resize(runs.size());
    (pair.*side)[place] = &row.sample;
    pair.most_ns = std::max(pair.most_ns, row.sample.total_ns);
  }
}

Pairs pair_up(const Records& before, const Records& after) {
  Pairs pairs;
  for (std::size_t i = 0; i < before.size(); ++i) put(pairs, before, &Pair::before, i);
  for (std::size_t i = 0; i < after.size(); ++i) put(pairs, after, &Pair::after, i);
  return pairs;
}

// Many and short: they give way first where there are too many rows.
bool is_fine(SpanKind kind) {
  return kind == SpanKind::none || kind == SpanKind::forward || kind == SpanKind::task ||
         kind == SpanKind::function;
}

std::vector<Pairs::const_iterator> chosen(const Pairs& pairs) {
  std::vector<Pairs::const_iterator> list;
  for (auto it = pairs.begin(); it != pairs.end(); ++it) list.push_back(it);
  const auto importance = [](Pairs::const_iterator it) {
    return std::tuple(is_fine(it->first.first), -it->second.most_ns, it->first);
  };
  std::sort(list.begin(), list.end(),
            [&](auto a, auto b) { return importance(a) < importance(b); });
  if (list.size() > kMostRows) list.resize(kMostRows);
  const auto place = [](Pairs::const_iterator it) {  // as Analysis::stages
    const SpanKind kind = it->first.first;
    return std::tuple(kind == SpanKind::none, kind, -it->second.most_ns, it->first.second);
  };
  std::sort(list.begin(), list.end(), [&](auto a, auto b) { return place(a) < place(b); });
  return list;
}

bool any_present(const Samples& samples) {
  return std::any_of(samples.begin(), samples.end(),
                     [](const Sample* s) { return s != nullptr && s->present(); });
}

Values medians(const Samples& samples) {
  Values values;
  for (const Sample* sample : samples) {
    const bool counts = sample != nullptr && sample->count > 0;
    values.push_back(counts ? std::optional(sample->median_ns) : std::nullopt);
  }
  return values;
}

std::uint64_t spans_of(const Samples& samples) {
  std::uint64_t sum = 0;
  for (const Sample* sample : samples) sum += sample == nullptr ? 0 : sample->count;
  return sum;
}

void add_span_row(std::string name, SpanKind kind, const Samples& before, const Samples& after,
                  const Judging& judging, Comparison& result) {
  if (!any_present(before) && !any_present(after)) return;
  ChangeRow row;
  row.name = std::move(name);
  row.kind = std::string(genscope::name(kind));
  row.unit = "ns";
  row.before_count = spans_of(before);
  row.after_count = spans_of(after);
  judge_row(medians(before), medians(after), judging, row);
  if (!any_present(before)) row.presence = Presence::appeared;
  if (!any_present(after)) row.presence = Presence::vanished;
  if (judging.one_each && row.presence == Presence::both) {
    if (const std::optional<Ratio> ratio = ratio_of(*before.front(), *after.front())) {
      row.factor_low = 1 / ratio->high;
      row.factor_high = 1 / ratio->low;
      row.interval_over = IntervalOver::spans;
    }
  }
  result.rows.push_back(std::move(row));
}

// Values of whole runs. Absent on a side: not measured there, which is no change.
void add_figure(std::string name, std::string kind, std::string unit, const Values& before,
                const Values& after, const Judging& judging, Comparison& result) {
  ChangeRow row;
  row.name = std::move(name);
  row.kind = std::move(kind);
  row.unit = std::move(unit);
  judge_row(before, after, judging, row);
  row.before_count = row.before_runs;
  row.after_count = row.after_runs;
  if (row.before || row.after) result.rows.push_back(std::move(row));
}

template <class Get>
Values values_of(const Records& runs, Get&& get) {
  Values values;
  for (const RunRecord* run : runs) values.push_back(get(*run));
  return values;
}

std::optional<double> value_in(const std::vector<Figure>& figures, const std::string& name) {
  for (const Figure& figure : figures) {
    if (figure.name == name) return figure.value;
  }
  return std::nullopt;
}

void add_figures(const Records& before, const Records& after,
                 std::vector<Figure> RunRecord::*figures, const Judging& judging,
                 Comparison& result) {
  std::vector<const Figure*> all;  // each name once, as the first run that has it orders them
  std::set<std::string_view> known;
  for (const Records* side : {&before, &after}) {
    for (const RunRecord* run : *side) {
      for (const Figure& figure : run->*figures) {
        if (known.insert(figure.name).second) all.push_back(&figure);
      }
    }
  }
  for (const Figure* figure : all) {
    const auto get = [&](const RunRecord& run) { return value_in(run.*figures, figure->name); };
    add_figure(figure->name, figure->kind, figure->unit, values_of(before, get),
               values_of(after, get), judging, result);
  }
}

const Sample* steady_of(const RunRecord& run, const std::string& series) {
  for (const RowSample& row : run.samples.steady_series) {
    if (row.name == series) return &row.sample;
  }
  return nullptr;
}

// A row for each series of steps that both sides have. Never one over several.
void add_steady(const Records& before, const Records& after, const Judging& judging,
                Comparison& result) {
  std::map<std::string, int> sides;  // 1: before, 2: after
  for (const RunRecord* run : before) {
    for (const RowSample& row : run->samples.steady_series) sides[row.name] |= 1;
  }
  for (const RunRecord* run : after) {
    for (const RowSample& row : run->samples.steady_series) sides[row.name] |= 2;
  }
  bool any = false;
  for (const auto& [series, in] : sides) {
    if (in != 3) continue;
    any = true;
    Samples x, y;
    for (const RunRecord* run : before) x.push_back(steady_of(*run, series));
    for (const RunRecord* run : after) y.push_back(steady_of(*run, series));
    add_span_row(std::string(kSteadyStep) + (series.empty() ? "" : " of " + series), SpanKind::step,
                 x, y, judging, result);
  }
  if (!any && sides.size() > 1) {
    result.notes.emplace_back(
        "The steps are of several loops, pipelines or sizes, and the sides have none of them in "
        "common: there is no steady step to compare.");
  }
}

// All requests and the like as one row, where each has a name of its own and one shape.
void add_kinds(const Records& before, const Records& after, const Judging& judging,
               Comparison& result) {
  for (const SpanKind kind : {SpanKind::block, SpanKind::request, SpanKind::batch}) {
    std::size_t names = 0;
    bool mixed = false;
    Samples x, y;
    for (const bool first : {true, false}) {
      for (const RunRecord* run : first ? before : after) {
        (first ? x : y).push_back(&run->samples.of(kind).sample);
        names = std::max(names, run->samples.of(kind).names);
        mixed = mixed || run->samples.mixed;
      }
    }
    if (names < 2 || mixed) continue;  // with one name its own row says it
    const std::string plural =
        std::string(genscope::name(kind)) + (kind == SpanKind::batch ? "es" : "s");
    add_span_row("all " + plural, kind, x, y, judging, result);
  }
}

}  // namespace

Common common_rows(const Records& before, const Records& after) {
  Common common;
  for (const auto& [key, pair] : pair_up(before, after)) {
    common.before += pair.before.empty() ? 0 : 1;
    common.after += pair.after.empty() ? 0 : 1;
    common.both += pair.before.empty() || pair.after.empty() ? 0 : 1;
  }
  return common;
}

void add_rows(const Records& before, const Records& after, const Judging& judging,
              Comparison& result) {
  const auto wall = [](const RunRecord& run) { return run.wall_ns; };
  add_figure("wall time", "run", "ns", values_of(before, wall), values_of(after, wall), judging,
             result);
  add_steady(before, after, judging, result);
  add_figures(before, after, &RunRecord::times, judging, result);
  add_kinds(before, after, judging, result);
  const Pairs pairs = pair_up(before, after);
  const std::vector<Pairs::const_iterator> kept = chosen(pairs);
  for (const auto& it : kept) {
    Samples x = it->second.before, y = it->second.after;
    x.resize(before.size());
    y.resize(after.size());
    add_span_row(it->first.second, it->first.first, x, y, judging, result);
  }
  result.rows_left_out = pairs.size() - kept.size();
  add_figures(before, after, &RunRecord::costs, judging, result);
  correct_rows(result.rows);
}

}  // namespace genscope::analysis

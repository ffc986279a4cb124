// One pass over the values. A value's row is found through its name's number in the trace, and by
// text only once per name of a trace. Samples of probes are stored as counters too; those are a
// series and no row here. Min, max and mean leave out what is not finite.
#include "analyze/counters.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include <genscope/analyze.h>

#include "analyze/time.h"

namespace genscope::analysis {
namespace {

struct CounterTally {
  std::string_view name;
  std::uint64_t count = 0;
  std::uint64_t not_finite = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  std::int64_t first_at = kLatest;
  std::int64_t last_at = kEarliest;
  double first = 0;
  double last = 0;

  void add_value(std::int64_t at, double value) {
    if (count == 0 || at < first_at) {
      first_at = at;
      first = value;
    }
    if (count == 0 || at >= last_at) {
      last_at = at;
      last = value;
    }
    ++count;
    if (!std::isfinite(value)) {
      ++not_finite;
      return;
    }
    const auto finite = static_cast<double>(count - not_finite);
    min = finite == 1 ? value : std::min(min, value);
    max = finite == 1 ? value : std::max(max, value);
    // Two divisions, because the difference of two finite values may not be finite.
    mean += value / finite - mean / finite;
  }
};

CounterRow counter_row(const CounterTally& tally) {
  CounterRow row;
  row.name = tally.name;
  row.count = tally.count;
  row.not_finite = tally.not_finite;
  row.min = tally.min;
  row.max = tally.max;
  row.mean = tally.mean;
  row.first = tally.first;
  row.last = tally.last;
  return row;
}

CounterRow other_counters(std::span<const CounterTally> tallies) {
  CounterRow row;
  row.name = kOthers;
  row.folded = tallies.size();
  double finite = 0;
  for (const CounterTally& one : tallies) {
    row.count += one.count;
    row.not_finite += one.not_finite;
    const auto more = static_cast<double>(one.count - one.not_finite);
    if (more == 0) continue;
    row.min = finite == 0 ? one.min : std::min(row.min, one.min);
    row.max = finite == 0 ? one.max : std::max(row.max, one.max);
    finite += more;
    row.mean = row.mean * ((finite - more) / finite) + one.mean * (more / finite);
  }
  return row;
}

// By name; what is more than kMaxNamedRows is in the last.
std::vector<CounterRow> counter_rows(std::vector<CounterTally>& tallies) {
  const std::size_t kept = std::min(tallies.size(), kMaxNamedRows);
  const auto rest = tallies.begin() + static_cast<std::ptrdiff_t>(kept);
  if (rest != tallies.end()) {
    std::nth_element(tallies.begin(), rest, tallies.end(),
                     [](const CounterTally& a, const CounterTally& b) {
                       return a.count != b.count ? a.count > b.count : a.name < b.name;
                     });
  }
  std::sort(tallies.begin(), rest,
            [](const CounterTally& a, const CounterTally& b) { return a.name < b.name; });
  std::vector<CounterRow> table;
  table.reserve(kept + 1);
  for (auto tally = tallies.begin(); tally != rest; ++tally) table.push_back(counter_row(*tally));
  if (rest != tallies.end()) table.push_back(other_counters({rest, tallies.end()}));
  return table;
}

}  // namespace

std::vector<CounterRow> counter_table(const Run& run,
                                      std::span<const std::int64_t> clock_offset_ns) {
  std::vector<CounterTally> tallies;
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    std::vector<std::uint32_t> of_name(trace.names.size(), kNone);
    const CounterColumns& counters = trace.counters;
    const std::vector<std::uint32_t>& series = trace.samples.series_of_name;
    for (std::size_t i = 0; i < counters.size(); ++i) {
      if (!series.empty() && series[counters.name[i]] != kNone) continue;
      std::uint32_t& place = of_name[counters.name[i]];
      if (place == kNone) {
        const std::string_view name = trace.names[counters.name[i]].text;
        const auto next = static_cast<std::uint32_t>(tallies.size());
        const auto [at, is_new] = known.try_emplace(name, next);
        if (is_new) tallies.emplace_back().name = name;
        place = at->second;
      }
      tallies[place].add_value(add(counters.at_ns[i], clock_offset_ns[t]), counters.value[i]);
    }
  }
  return counter_rows(tallies);
}

}  // namespace genscope::analysis

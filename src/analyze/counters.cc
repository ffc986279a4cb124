#include "analyze/counters.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "analyze/time.h"

namespace genscope::analysis {
namespace {

struct Tally {
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

}  // namespace

std::vector<CounterRow> counter_table(const Run& run, std::span<const std::int64_t> clock_offset_ns,
                                      std::span<const SampleNames> samples) {
  std::map<std::string_view, Tally> tallies;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    std::vector<Tally*> of_name(trace.names.size(), nullptr);
    const CounterColumns& counters = trace.counters;
    const std::vector<std::int32_t>& series = samples[t].series_of_name;
    for (std::size_t i = 0; i < counters.size(); ++i) {
      if (!series.empty() && series[counters.name[i]] >= 0) continue;
      Tally*& tally = of_name[counters.name[i]];
      if (tally == nullptr) tally = &tallies[trace.names[counters.name[i]].text];
      tally->add_value(add(counters.at_ns[i], clock_offset_ns[t]), counters.value[i]);
    }
  }
  std::vector<CounterRow> table;
  table.reserve(tallies.size());
  for (const auto& [name, tally] : tallies) {
    CounterRow row;
    row.name = name;
    row.count = tally.count;
    row.not_finite = tally.not_finite;
    row.min = tally.min;
    row.max = tally.max;
    row.mean = tally.mean;
    row.first = tally.first;
    row.last = tally.last;
    table.push_back(std::move(row));
  }
  return table;
}

}  // namespace genscope::analysis

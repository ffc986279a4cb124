#include "analyze/resources/stretches.h"

#include <algorithm>

namespace genscope::analysis {
namespace {

constexpr std::uint32_t kNotMetered = 0xFFFFFFFF;

}  // namespace

std::int64_t MeteredRow::total_ns() const noexcept {
  std::int64_t total = 0;
  for (const Stretches& stretches : of_host) {
    for (const Interval& one : stretches) total = add(total, one.length());
  }
  return total;
}

void unite(Stretches& stretches) {
  const auto earlier = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(stretches.begin(), stretches.end(), earlier)) {
    std::sort(stretches.begin(), stretches.end(), earlier);
  }
  std::size_t kept = 0;
  for (const Interval& next : stretches) {
    if (next.end <= next.begin) continue;
    if (kept > 0 && next.begin <= stretches[kept - 1].end) {
      stretches[kept - 1].end = std::max(stretches[kept - 1].end, next.end);
    } else {
      stretches[kept++] = next;
    }
  }
  stretches.resize(kept);
}

Stretches without(Interval whole, const Stretches& taken) {
  Stretches rest;
  std::int64_t from = whole.begin;
  for (const Interval& one : taken) {
    if (one.begin > from) rest.push_back({from, std::min(one.begin, whole.end)});
    from = std::max(from, one.end);
    if (from >= whole.end) break;
  }
  if (from < whole.end) rest.push_back({from, whole.end});
  std::erase_if(rest, [](const Interval& one) { return one.end <= one.begin; });
  return rest;
}

MeteredRows find_metered_rows(const Run& run, const RowTable& rows, const Clocks& clocks,
                              const std::vector<std::uint32_t>& host_of_trace, std::size_t hosts) {
  MeteredRows metered;
  std::vector<std::uint32_t> place(rows.size(), kNotMetered);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const bool step = row < rows.step_rows();
    if (!step && !holds_stages(rows.key(row).kind)) continue;
    place[row] = step && row > 0 ? place[0] : static_cast<std::uint32_t>(metered.rows.size());
    if (step && row > 0) continue;
    metered.rows.push_back({rows.key(row).name, rows.key(row).kind, {}, rows.key(row).folded});
    metered.rows.back().of_host.resize(hosts);
  }
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const SpanColumns& spans = run.traces[t].spans;
    const std::vector<std::uint32_t>& row_of = rows.rows_of(t);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const std::uint32_t row = place[row_of[spans.name[i]]];
      if (row == kNotMetered) continue;
      const Interval here =
          interval(add(spans.begin_ns[i], clocks.offset_ns[t]), spans.duration_ns[i]);
      Stretches& stretches = metered.rows[row].of_host[host_of_trace[t]];
      // Back to back, or within the last: no new entry.
      if (!stretches.empty() && here.begin >= stretches.back().begin &&
          here.begin <= stretches.back().end) {
        stretches.back().end = std::max(stretches.back().end, here.end);
      } else {
        stretches.push_back(here);
      }
    }
  }
  for (MeteredRow& row : metered.rows) {
    for (Stretches& stretches : row.of_host) unite(stretches);
  }
  if (rows.step_rows() > 0) {
    if (rows.step_rows() > 1) metered.rows.front().name = "steps";
    metered.steps = &metered.rows.front();
  }
  return metered;
}

}  // namespace genscope::analysis

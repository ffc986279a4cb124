// When the spans of a row ran: unions of intervals, host by host, that sweeps put against readings.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <genscope/trace.h>

#include "analyze/clocks.h"
#include "analyze/energy.h"
#include "analyze/rows.h"
#include "analyze/time.h"

namespace genscope::analysis {

// Apart and in the order of time.
using Stretches = std::vector<Interval>;

// A row of the stage table whose use of resources is told: of kind load, stage, block, batch,
// epoch or request; one more for all steps, whatever their names.
struct MeteredRow {
  std::string_view name;  // of the run's names
  SpanKind kind = SpanKind::stage;
  std::vector<Stretches> of_host;  // spans that run at once count once
  std::uint64_t folded = 0;        // as in its StageRow
  std::int64_t total_ns() const noexcept;
};

struct MeteredRows {
  std::vector<MeteredRow> rows;
  const MeteredRow* steps = nullptr;  // the one for all steps, if there are any
};
// Linear in the spans but for sorting where tracks interleave; 16 bytes per span of these kinds.
MeteredRows find_metered_rows(const Run& run, const RowTable& rows, const Clocks& clocks,
                              const std::vector<std::uint32_t>& host_of_trace, std::size_t hosts);

// Sorted and united; intervals that touch become one.
void unite(Stretches& stretches);

// What of `whole` no stretch covers.
Stretches without(Interval whole, const Stretches& taken);

// Calls visit(place) for each point within the stretches, begin included, end not.
template <class Visit>
void visit_within(const Stretches& stretches, const std::vector<std::int64_t>& at_ns,
                  Visit&& visit) {
  std::size_t s = 0, p = 0;
  while (s < stretches.size() && p < at_ns.size()) {
    if (at_ns[p] < stretches[s].begin) {
      p = gallop(at_ns.size(), p, [&](std::size_t i) { return at_ns[i] >= stretches[s].begin; });
    } else if (at_ns[p] >= stretches[s].end) {
      s = gallop(stretches.size(), s, [&](std::size_t i) { return stretches[i].end > at_ns[p]; });
    } else {
      visit(p++);
    }
  }
}

}  // namespace genscope::analysis

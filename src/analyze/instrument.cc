#include "analyze/instrument.h"

#include <algorithm>
#include <map>

#include "trace/arguments.h"

namespace genscope::analysis {
namespace {

constexpr std::size_t kMostNames = 200;

std::string text_of(const trace::ArgValue& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : std::string();
}

// Per event that is about instrumentation, in the order of the trace.
std::map<std::uint32_t, InstrumentRow> rows_of(const Trace& trace) {
  std::map<std::uint32_t, InstrumentRow> rows;
  const ArgColumns& args = trace.event_args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (trace.names[trace.events.name[args.owner[i]]].text != "instrument") continue;
    const auto value = trace::argument_at(trace, args, i);
    if (!value) continue;
    InstrumentRow& row = rows[args.owner[i]];
    const std::string& key = trace.names[args.key[i]].text;
    if (key == "target") row.target = text_of(*value);
    if (key == "status") row.hooked = text_of(*value) == "hooked";
    if (key == "reason") row.reason = text_of(*value);
  }
  return rows;
}

}  // namespace

std::vector<InstrumentRow> instrument_table(const Run& run) {
  std::vector<InstrumentRow> table;
  for (const Trace& trace : run.traces) {
    for (auto& [event, row] : rows_of(trace)) {
      if (row.target.empty()) continue;
      const auto same = std::find_if(table.begin(), table.end(), [&row = row](const auto& known) {
        return known.target == row.target && known.hooked == row.hooked &&
               known.reason == row.reason;
      });
      if (same != table.end()) {
        same->processes++;
      } else if (table.size() < kMostNames) {
        table.push_back(std::move(row));
      }
    }
  }
  return table;
}

}  // namespace genscope::analysis

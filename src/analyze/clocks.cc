#include "analyze/clocks.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "analyze/time.h"

namespace genscope::analysis {

Clocks align_clocks(const Run& run) {
  Clocks clocks;
  clocks.offset_ns.assign(run.traces.size(), 0);
  if (run.traces.empty()) return clocks;

  const ProcessInfo& reference = run.traces.front().process;
  std::unordered_map<std::string_view, std::int64_t> boots;
  if (!reference.boot_id.empty()) boots.emplace(reference.boot_id, 0);
  std::int64_t begin = kLatest;
  std::int64_t end = kEarliest;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    std::int64_t offset =
        t == 0 ? 0 : subtract(trace.process.unix_offset_ns, reference.unix_offset_ns);
    if (!trace.process.boot_id.empty()) {
      offset = boots.try_emplace(trace.process.boot_id, offset).first->second;
    }
    clocks.offset_ns[t] = offset;
    if (trace.begin_ns == 0 && trace.end_ns == 0) continue;  // recorded nothing at any time
    begin = std::min(begin, add(trace.begin_ns, offset));
    end = std::max(end, add(trace.end_ns, offset));
  }
  if (begin <= end) {
    clocks.begin_ns = begin;
    clocks.end_ns = end;
  }
  return clocks;
}

}  // namespace genscope::analysis

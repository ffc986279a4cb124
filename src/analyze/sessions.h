// What the sessions of a process have to themselves.
#pragma once

#include <cstdint>
#include <vector>

#include <genscope/trace.h>

#include "analyze/row_sums.h"
#include "analyze/track_order.h"

namespace genscope::analysis {

// A session spans its whole process: it is detached and has no parent, and the outermost spans of
// all threads run under it, though most do not name it as parent.
bool is_process_wide(const Trace& trace, std::size_t span);

// Takes from the self time of each such session the union of the outermost spans that begin under
// it, so that what is left is time in which no
// thread recorded anything. Of several sessions a span is under the one that began last before it.
void take_roots_from_sessions(const Trace& trace, const TrackOrder& order,
                              const std::vector<std::uint32_t>& row_of, std::vector<RowSums>& sums);

}  // namespace genscope::analysis

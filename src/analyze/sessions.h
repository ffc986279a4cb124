// What the sessions of a process have to themselves.
#pragma once

#include <cstdint>
#include <vector>

#include <genscope/trace.h>

#include "analyze/row_sums.h"
#include "analyze/track_order.h"

namespace genscope::analysis {

// A session spans its whole process: it is detached, and the outermost spans of all threads run
// under it though none names it as parent. Takes from the self time of each such session the union
// of the spans without parent that begin under it, so that what is left is time in which no
// thread recorded anything. Of several sessions a span is under the one that began last before it.
void take_roots_from_sessions(const Trace& trace, const TrackOrder& order,
                              const std::vector<std::uint32_t>& row_of, std::vector<RowSums>& sums);

}  // namespace genscope::analysis

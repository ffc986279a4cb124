// Whether the columns of a Trace fit together: what every writer of traces relies on.
#pragma once

#include "genscope/error.h"
#include "genscope/trace.h"

namespace genscope::store {

// An Error names the column and row that point nowhere, are of another length, out of order, or
// have a time that the format cannot hold (before 0 or more than 9 years from the start).
Status check_columns(const Trace& trace);

}  // namespace genscope::store

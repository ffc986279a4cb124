// Joins what refers to spans by id: ends and arguments from elsewhere, parents, events.
#pragma once

#include "genscope/trace.h"
#include "store/lane_decoder.h"

namespace genscope::store {

// Completes `trace`; afterwards every span has a duration and every index is valid.
void resolve(References& references, Trace& trace);

}  // namespace genscope::store

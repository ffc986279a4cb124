// What only reading a run tells, kept beside the runs so that a list of hundreds is quick.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "serve/runs.h"

namespace genscope::serve {

// The figures of the runs of `folder` that are over, by id. What was read before comes from the
// file
// `.genscope-list` in it, as long as the run is what it was; the others are read now, one at a
// time, and noted there if it can be written. `all`: these are all the runs there are, so that what
// is noted of others can go. A run that cannot be read has none.
std::map<std::string, RunFigures> figures_of(const std::vector<RunEntry>& runs,
                                             const std::string& folder, bool all);

}  // namespace genscope::serve

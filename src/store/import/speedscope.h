// Profiles in the format of speedscope, as py-spy and pyinstrument write it, become the events of a
// Chrome trace: each profile a thread, each call a complete event.
//
// The file is read whole: what a stack is stands at its end or its begin, as the writer likes.
#pragma once

#include <string>

#include <genscope/store.h>

#include "store/import/emitter.h"

namespace genscope::store {

// An Error that names what is wrong if it is none, or holds no time.
Result<ForeignRead> read_speedscope(const std::string& path, const ImportOptions& options,
                                    ChromeHandler& handler);

}  // namespace genscope::store

// Profiles of cProfile and profile, as Stats.dump_stats() and `python -m cProfile -o` write them.
#pragma once

#include <string>

#include <genscope/store.h>

#include "store/import/emitter.h"

namespace genscope::store {

// An Error that names what is wrong if the bytes are none.
Result<ForeignRead> read_cprofile(const std::string& path, const ImportOptions& options,
                                  ChromeHandler& handler);

}  // namespace genscope::store

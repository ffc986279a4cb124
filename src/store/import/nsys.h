// The SQLite file that `nsys export --type sqlite` writes of a report of Nsight Systems.
#pragma once

#include <string>

#include <genscope/store.h>

#include "store/import/emitter.h"

namespace genscope::store {

// An Error that names what is wrong if the file is none.
Result<ForeignRead> read_nsys(const std::string& path, const ImportOptions& options,
                              ChromeHandler& handler);

}  // namespace genscope::store

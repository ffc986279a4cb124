// Memory snapshots of PyTorch, as torch.cuda.memory._dump_snapshot() writes them.
#pragma once

#include <string>

#include <genscope/store.h>

#include "store/import/emitter.h"

namespace genscope::store {

// An Error that names what is wrong if the bytes are none, or ask to run anything.
Result<ForeignRead> read_torch_memory(const std::string& path, const ImportOptions& options,
                                      ChromeHandler& handler);

}  // namespace genscope::store

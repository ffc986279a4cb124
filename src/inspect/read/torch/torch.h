// Checkpoints of torch.save(): a zip archive with ARCHIVE/data.pkl, or before 1.6 five pickles in a
// row (magic number, protocol, system, object, keys of storages) and the storages behind them.
#pragma once

#include <string_view>

#include "genscope/inspect.h"
#include "inspect/read/byte_source.h"

namespace genscope::inspect {

bool looks_like_zip(std::string_view head) noexcept;
// A pickle of protocol 2 or later, or an older one that starts with a global.
bool looks_like_pickle(std::string_view head) noexcept;

Result<TensorFile> read_torch_zip(const ByteSource& source);
Result<TensorFile> read_torch_legacy(const ByteSource& source);

}  // namespace genscope::inspect

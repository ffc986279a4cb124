// The doors between readers: a file by its first bytes, an index by its shards, a split GGUF.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "genscope/inspect.h"
#include "inspect/read/byte_source.h"

namespace genscope::inspect {

// Any container but an index. `source` may be memory.
Result<TensorFile> read_container(const ByteSource& source);

// What `path` is, index and split files included. Adds the paths that were read to `files`.
Result<TensorFile> read_model_file(const std::string& path, std::vector<std::string>* files);

}  // namespace genscope::inspect

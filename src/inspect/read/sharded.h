// *.safetensors.index.json (and *.bin.index.json of torch):
//   {"metadata": {"total_size": N}, "weight_map": {tensor: file, ...}}
//
// Files must lie in the index's folder: neither `..`, nor an absolute path, nor a symbolic link
// that leads out of it. The cache of Hugging Face links each file of `snapshots/REVISION` to
// `blobs` beside it; such links are followed.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "genscope/inspect.h"
#include "inspect/read/byte_source.h"

namespace genscope::inspect {

struct Shard {
  std::string file;  // as the index has it
  std::uint64_t tensors = 0;
};
struct ShardIndex {
  std::vector<Shard> shards;  // in the order of their first tensor
  std::vector<std::pair<std::string, std::string>> metadata;
  std::uint64_t header_bytes = 0;
};
// Bytes only; no file is opened.
Result<ShardIndex> parse_index(const ByteSource& source);

// The union of all shards. A missing one is a note; a broken one is an error.
Result<TensorFile> read_sharded(const ByteSource& source, std::vector<std::string>* files);

// One TensorFile from the headers of several files.
class Union {
 public:
  void add(TensorFile part);  // keeps its tensors and notes, and the first one's metadata
  TensorFile& whole() noexcept { return whole_; }
  // An error if two files have a tensor of one name.
  Result<TensorFile> finish(const ByteSource& source);

 private:
  TensorFile whole_;
  std::vector<std::shared_ptr<const std::string>> names_;
};

}  // namespace genscope::inspect

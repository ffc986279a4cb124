// Which of a folder's files hold its weights. Folders come with the same weights several times
// over: as safetensors and as a pickle, in fp16 and fp32, whole and in shards. One set is chosen;
// the others must not be counted.
#pragma once

#include <string>
#include <vector>

namespace genscope::inspect {

struct WeightsChoice {
  std::vector<std::string> files;   // to read: one file or index, or shards without an index
  std::vector<std::string> others;  // further sets of the same weights, by name
  // Several files with names of their own, none of which is known to be the folder's: they may be
  // different models.
  bool ambiguous = false;
};

// `names`: the files of the folder, in any order. The order of preference: a name that a framework
// writes, no variant, safetensors, index before single file, GGUF, torch, then by name.
WeightsChoice choose_weights(std::vector<std::string> names);

// "model-00002-of-00003.safetensors": the stem "model", ".safetensors", and the counts.
struct ShardName {
  std::string stem, extension;
  unsigned number = 0, count = 0;
};
bool parse_shard_name(const std::string& file, ShardName& shard);

}  // namespace genscope::inspect

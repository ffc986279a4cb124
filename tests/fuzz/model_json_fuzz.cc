// The JSON documents beside weights: the first byte picks index, model_index.json or config.json.
#include <filesystem>

#include "check_tensors.h"
#include "inspect/read/folder.h"
#include "inspect/read/sharded.h"

namespace {

using namespace genscope;
using namespace genscope::inspect;

template <class T>
bool good(const Result<T>& result) {
  if (!result.ok()) fuzz::demand(result.error().message.starts_with("fuzz.json: byte "));
  return result.ok();
}

void index(const MemorySource& source) {
  const Result<ShardIndex> index = parse_index(source);
  if (!good(index)) return;
  for (const Shard& shard : index->shards) {
    const auto path = (std::filesystem::path("/folder") / shard.file).lexically_normal();
    fuzz::demand(path.string().starts_with("/folder/"));
    fuzz::demand(shard.tensors > 0 && !shard.file.ends_with(".json"));
  }
}

void pipeline(const MemorySource& source) {
  const Result<PipelineIndex> index = parse_pipeline_index(source);
  if (!good(index)) return;
  for (const auto& [name, class_name] : index->components) {
    fuzz::demand(!name.empty() && name.find('/') == std::string::npos && name != "..");
    fuzz::demand(!class_name.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const MemorySource source("fuzz.json", bytes);
  if (data[0] == 'i') index(source);
  if (data[0] == 'p') pipeline(source);
  if (data[0] == 'c') good(parse_config(source));
  return 0;
}

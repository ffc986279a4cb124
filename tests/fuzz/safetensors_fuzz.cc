// Files of safetensors: what is accepted is tiled by its tensors to the last byte.
#include "inspect/read/safetensors.h"

#include "check_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const genscope::inspect::MemorySource source("fuzz.safetensors", bytes);
  const auto file = genscope::inspect::read_safetensors(source);
  genscope::fuzz::check_tensors(file, "fuzz.safetensors", size);
  if (!file.ok()) return 0;
  std::uint64_t total = file->header_bytes;
  for (const genscope::Tensor& tensor : file->tensors) total += tensor.bytes;
  genscope::fuzz::demand(total == size);
  // Shapes that no quantiser makes must not lead it astray.
  for (const genscope::Component& part : genscope::identify(*file)) {
    genscope::fuzz::demand(part.tensors <= file->tensors.size());
  }
  return 0;
}

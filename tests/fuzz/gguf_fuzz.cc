// Files of GGUF, all versions.
#include "inspect/read/gguf/gguf.h"

#include "check_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = genscope::inspect::read_gguf(genscope::inspect::MemorySource("f.gguf", bytes));
  genscope::fuzz::check_tensors(file, "f.gguf", size);
  if (!file.ok()) return 0;
  std::uint64_t total = file->header_bytes;
  for (const genscope::Tensor& tensor : file->tensors) total += tensor.bytes;
  genscope::fuzz::demand(total <= size);
  return 0;
}

// Pickles as torch's legacy checkpoints have them, or alone.
#include "check_tensors.h"
#include "inspect/read/torch/torch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const genscope::inspect::MemorySource source("fuzz.bin", bytes);
  genscope::fuzz::check_tensors(genscope::inspect::read_torch_legacy(source), "fuzz.bin", size);
  return 0;
}

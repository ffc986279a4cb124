// Zip archives with a data.pkl.
#include "check_tensors.h"
#include "inspect/read/torch/torch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const genscope::inspect::MemorySource source("fuzz.pt", bytes);
  genscope::fuzz::check_tensors(genscope::inspect::read_torch_zip(source), "fuzz.pt", size);
  return 0;
}

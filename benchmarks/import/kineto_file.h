// A trace as the PyTorch profiler writes it, of any size: made to its schema, not recorded.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

struct KinetoFile {
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
};

// Writes at least `bytes` of JSON to `path`, and the same as gzip to `gzip_path` if that is not
// empty. Steps of operators that launch kernels, with shapes, memory events and flow arrows.
KinetoFile write_kineto(const std::string& path, const std::string& gzip_path, std::uint64_t bytes);

}  // namespace bench

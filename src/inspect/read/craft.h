// Model files made by hand, for tests: headers as text, data as holes.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace genscope::inspect::craft {

// `value` as it stands in memory.
template <class T>
std::string raw(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

// A safetensors file of this header and so many zero bytes.
inline std::string safetensors(std::string_view json, std::size_t data_bytes = 0) {
  return raw(std::uint64_t{json.size()}) + std::string(json) + std::string(data_bytes, '\0');
}

inline void write(const std::string& path, std::string_view bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace genscope::inspect::craft

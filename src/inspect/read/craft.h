// Model files made by hand, for tests: headers byte by byte, data as zeros.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genscope::inspect::craft {

// `value` as it stands in memory.
template <class T>
std::string raw(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

inline void write(const std::string& path, std::string_view bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

// A safetensors file of this header and so many zero bytes.
inline std::string safetensors(std::string_view json, std::size_t data_bytes = 0) {
  return raw(std::uint64_t{json.size()}) + std::string(json) + std::string(data_bytes, '\0');
}

// One with a tensor of two f32 for each name.
inline std::string safetensors_of(std::initializer_list<std::string_view> names) {
  std::string json = "{";
  std::size_t at = 0;
  for (const std::string_view name : names) {
    json += (at > 0 ? ",\"" : "\"") + std::string(name) +
            R"(":{"dtype":"F32","shape":[2],"data_offsets":[)" + std::to_string(at) + "," +
            std::to_string(at + 8) + "]}";
    at += 8;
  }
  return safetensors(json + "}", at);
}

inline std::string gguf_text(std::string_view text) {
  return raw(std::uint64_t{text.size()}) + std::string(text);
}
inline std::string gguf_pair(std::string_view key, std::string_view value) {
  return gguf_text(key) + raw(std::uint32_t{8}) + gguf_text(value);
}
inline std::string gguf_array(std::string_view key, std::uint32_t type, std::uint64_t count,
                              std::string_view elements) {
  return gguf_text(key) + raw(std::uint32_t{9}) + raw(type) + raw(count) + std::string(elements);
}

struct GgufTensor {
  std::string name;
  std::vector<std::uint64_t> sizes;  // innermost first, as stored
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
};
inline std::string gguf(const std::vector<std::string>& pairs,
                        const std::vector<GgufTensor>& tensors, std::size_t data_bytes,
                        std::uint32_t version = 3) {
  std::string out =
      "GGUF" + raw(version) + raw(std::uint64_t{tensors.size()}) + raw(std::uint64_t{pairs.size()});
  for (const std::string& pair : pairs) out += pair;
  for (const GgufTensor& tensor : tensors) {
    out += gguf_text(tensor.name) + raw(static_cast<std::uint32_t>(tensor.sizes.size()));
    for (const std::uint64_t size : tensor.sizes) out += raw(size);
    out += raw(tensor.type) + raw(tensor.offset);
  }
  out.resize((out.size() + 31) / 32 * 32, '\0');
  return out + std::string(data_bytes, '\0');
}

// Opcodes of a pickle, protocol 2.
namespace pkl {
inline std::string text(std::string_view text) {
  return "X" + raw(static_cast<std::uint32_t>(text.size())) + std::string(text);
}
inline std::string number(std::int32_t value) { return "J" + raw(value); }
inline std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string tuple(std::initializer_list<std::string> items) {
  std::string out = "(";
  for (const std::string& item : items) out += item;
  return out + "t";
}
inline std::string shape(std::initializer_list<std::int32_t> sizes) {
  std::string out = "(";
  for (const std::int32_t size : sizes) out += number(size);
  return out + "t";
}
inline std::string storage(std::string_view type, std::int32_t elements) {
  return tuple({text("storage"), global("torch", type), text("0"), text("cpu"), number(elements)}) +
         "Q";
}
inline std::string tensor(std::string_view type, std::int32_t elements,
                          std::initializer_list<std::int32_t> sizes) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple({storage(type, elements), number(0), shape(sizes), shape(sizes), "\x89",
                global("collections", "OrderedDict") + ")R"}) +
         "R";
}
inline std::string dict(std::initializer_list<std::pair<std::string_view, std::string>> items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += text(key) + value;
  return out + "u";
}
inline std::string whole(const std::string& object) { return "\x80\x02" + object + "."; }
}  // namespace pkl

// A legacy checkpoint of this object, with so many bytes of storages.
inline std::string torch_legacy(const std::string& object, std::size_t data_bytes) {
  using namespace std::literals;
  return "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8\x50\x19."s + pkl::whole("M\xe9\x03") +
         pkl::whole("}") + pkl::whole(object) + pkl::whole("]") + std::string(data_bytes, '\0');
}

struct ZipFile {
  std::string name;
  std::string bytes;
  std::uint16_t method = 0;
};
// A zip archive; `claimed`: the uncompressed size that the directory gives, if not the true one.
inline std::string zip(const std::vector<ZipFile>& files, std::uint32_t claimed = 0) {
  std::string out, directory;
  for (const ZipFile& file : files) {
    const auto size = static_cast<std::uint32_t>(file.bytes.size());
    const std::uint32_t full = claimed != 0 ? claimed : size;
    const auto length = static_cast<std::uint16_t>(file.name.size());
    const auto at = static_cast<std::uint32_t>(out.size());
    const std::string sizes = raw(size) + raw(full) + raw(length) + std::string(2, '\0');
    const std::string middle = std::string(2, '\0') + raw(file.method) + std::string(8, '\0');
    out += "PK\x03\x04" + std::string("\x14\0", 2) + middle + sizes + file.name + file.bytes;
    directory += "PK\x01\x02" + std::string("\x14\0\x14\0", 4) + middle + sizes +
                 std::string(10, '\0') + raw(at) + file.name;
  }
  const auto count = static_cast<std::uint16_t>(files.size());
  const auto at = static_cast<std::uint32_t>(out.size());
  return out + directory + "PK\x05\x06" + std::string(4, '\0') + raw(count) + raw(count) +
         raw(static_cast<std::uint32_t>(directory.size())) + raw(at) + std::string(2, '\0');
}
inline std::string torch_zip(const std::string& object, std::size_t data_bytes = 256) {
  return zip({{"archive/data.pkl", pkl::whole(object), 0},
              {"archive/data/0", std::string(data_bytes, '\0'), 0},
              {"archive/version", "3\n", 0}});
}

}  // namespace genscope::inspect::craft

// Which reader a file needs, by its first bytes.
#include <algorithm>
#include <array>

#include "genscope/inspect.h"
#include "inspect/read/byte_source.h"
#include "inspect/read/safetensors.h"

namespace genscope {

using namespace inspect;

Result<TensorFile> read_tensor_file(const std::string& path) {
  const Result<std::unique_ptr<FileSource>> source = FileSource::open(path);
  if (!source) return source.error();
  const FileSource& file = **source;
  if (file.size() == 0) {
    return Error{ErrorCode::bad_data, path + ": byte 0: the file is empty; fetch it again"};
  }
  std::array<char, 32> buffer{};
  const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file.size()));
  if (Status read = file.read(0, {buffer.data(), n}); !read) return std::move(read).error();
  const std::string_view head(buffer.data(), n);
  if (looks_like_safetensors(head)) return read_safetensors(file);
  return Error{ErrorCode::bad_data,
               path +
                   ": byte 0: neither safetensors, GGUF nor a torch checkpoint; name a model "
                   "file, its index or its folder"};
}

}  // namespace genscope

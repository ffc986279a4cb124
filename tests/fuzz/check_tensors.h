// What must hold for every TensorFile and for every error of a reader.
#pragma once

#include <genscope/inspect.h>

#include <cstdlib>
#include <string_view>
#include <unordered_set>

namespace genscope::fuzz {

inline void demand(bool holds) {
  if (!holds) std::abort();
}

// `file_bytes`: what the reader was given.
inline void check_tensors(const Result<TensorFile>& file, std::string_view path,
                          std::uint64_t file_bytes) {
  if (!file.ok()) {
    demand(file.error().message.starts_with(path));
    demand(file.error().message.find("byte ") != std::string::npos);
    return;
  }
  demand(file->file_bytes == file_bytes);
  std::unordered_set<std::string_view> names;
  for (const Tensor& tensor : file->tensors) {
    demand(names.insert(tensor.name).second);
    demand(tensor.shape.rank <= Shape::kMaxRank);
    demand(tensor.bytes <= file_bytes);
    std::uint64_t elements = 1;
    bool overflow = false;
    for (const std::uint64_t size : tensor.shape.span()) {
      overflow |= __builtin_mul_overflow(elements, size, &elements);
    }
    demand(!overflow && elements == tensor.shape.elements());
  }
  for (const std::string& note : file->notes) demand(!note.empty());
}

}  // namespace genscope::fuzz

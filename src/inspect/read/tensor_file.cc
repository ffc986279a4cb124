#include <algorithm>

#include "genscope/inspect.h"

namespace genscope {

std::uint64_t Shape::elements() const noexcept {
  std::uint64_t product = 1;
  for (const std::uint64_t size : span()) product *= size;
  return product;
}

std::string_view name(Container container) noexcept {
  switch (container) {
    case Container::safetensors:
      return "safetensors";
    case Container::sharded:
      return "sharded";
    case Container::gguf:
      return "gguf";
    case Container::torch_zip:
      return "torch_zip";
    case Container::torch_legacy:
      return "torch_legacy";
    case Container::folder:
      return "folder";
  }
  return "unknown";
}

const Tensor* TensorFile::find(std::string_view name) const noexcept {
  const auto it = std::ranges::find(tensors, name, &Tensor::name);
  return it == tensors.end() ? nullptr : &*it;
}

std::string_view TensorFile::meta(std::string_view key) const noexcept {
  const auto it = std::ranges::find(
      metadata, key, [](const auto& pair) -> std::string_view { return pair.first; });
  return it == metadata.end() ? std::string_view() : std::string_view(it->second);
}

}  // namespace genscope

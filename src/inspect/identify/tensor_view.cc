#include "inspect/identify/tensor_view.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "inspect/identify/packed.h"

namespace genscope::inspect {
namespace {

// FNV-1a, begun at a place that no file can know: made up names that fall into one slot would
// otherwise cost the square of their number.
class Hash {
 public:
  void add(std::string_view text) noexcept {
    for (const char c : text) {
      state_ ^= static_cast<unsigned char>(c);
      state_ *= 0x100000001b3;
    }
  }
  std::size_t value() const noexcept { return state_ ^ (state_ >> 29); }

 private:
  static std::uint64_t seed() noexcept {
    static const auto once = static_cast<std::uint64_t>(
        std::chrono::steady_clock::now().time_since_epoch().count() * 0x9e3779b97f4a7c15ULL);
    return once;
  }
  std::uint64_t state_ = 0xcbf29ce484222325 ^ seed();
};

constexpr std::string_view kWeight = "weight";

bool is_joined(std::string_view name, std::string_view prefix, std::string_view rest) noexcept {
  return name.size() == prefix.size() + rest.size() && name.starts_with(prefix) &&
         name.ends_with(rest);
}

}  // namespace

TensorIndex::TensorIndex(const TensorFile& file)
    : file_(file), slots_(std::bit_ceil(file.tensors.size() * 2 + 2)) {
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t id = 0; id < file.tensors.size(); ++id) {
    Hash hash;
    hash.add(file.tensors[id].name);
    std::size_t slot = hash.value() & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = id + 1;
    packs_ = packs_ || packed_stem(file.tensors[id].name).data() != nullptr;
  }
}

const Tensor* TensorIndex::find(std::string_view prefix, std::string_view rest) const noexcept {
  Hash hash;
  hash.add(prefix);
  hash.add(rest);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash.value() & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Tensor& tensor = file_.tensors[slots_[slot] - 1];
    if (is_joined(tensor.name, prefix, rest)) return &tensor;
  }
  return nullptr;
}

bool TensorIndex::is_width(std::uint64_t size) const {
  if (widths_.empty()) {
    widths_.push_back(0);
    for (const Tensor& tensor : file_.tensors) {
      if (tensor.shape.rank == 1 && tensor.name.ends_with("weight")) {
        widths_.push_back(tensor.shape[0]);
      }
    }
    std::sort(widths_.begin(), widths_.end());
    widths_.erase(std::unique(widths_.begin(), widths_.end()), widths_.end());
  }
  return std::binary_search(widths_.begin(), widths_.end(), size);
}

const Tensor* TensorView::find(std::string_view name) const noexcept {
  const auto named = [&](std::string_view what) {
    const Tensor* tensor = index_->find(prefix_, what);
    if (tensor != nullptr || outer_ == prefix_.size()) return tensor;
    return index_->find(std::string_view(prefix_).substr(0, outer_), what);
  };
  const Tensor* tensor = named(name);
  if (tensor != nullptr || !index_->packs() || !name.ends_with(kWeight)) return tensor;
  std::string packed(name.substr(0, name.size() - kWeight.size()));
  const std::size_t stem = packed.size();
  for (const std::string_view end : kPackedNames) {
    packed.resize(stem);
    tensor = named(packed += end);
    if (tensor != nullptr) return tensor;
  }
  return nullptr;
}

std::uint64_t TensorView::size(std::string_view name, int axis) const noexcept {
  const Tensor* tensor = find(name);
  if (tensor == nullptr) return 0;
  if (const std::optional<Packed> packed = unpack(*index_, *tensor)) {
    if (tensor->shape.rank <= 2) return axis == 0 || axis == -2 ? packed->rows : packed->columns;
    return 0;
  }
  if (axis == 0 && tensor->dtype == Dtype::u8 && name.ends_with(kWeight)) {
    std::string bias(name.substr(0, name.size() - kWeight.size()));
    tensor = find(bias += "bias");
    if (tensor == nullptr) return 0;
  } else if (tensor->dtype == Dtype::u8) {
    return 0;
  }
  const int rank = tensor->shape.rank;
  const int place = axis < 0 ? rank + axis : axis;
  return place < 0 || place >= rank ? 0 : tensor->shape[static_cast<std::size_t>(place)];
}

std::uint64_t TensorView::blocks(std::string_view stem) const noexcept {
  constexpr std::uint64_t kMost = 100'000;
  std::uint64_t found = 0;
  for (const std::uint32_t id : members_) {
    std::string_view rest = at(id).name;
    if (!rest.starts_with(prefix_)) continue;
    rest.remove_prefix(prefix_.size());
    if (!rest.starts_with(stem)) continue;
    rest.remove_prefix(stem.size());
    std::uint64_t number = 0;
    std::size_t digits = 0;
    while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9' && number < kMost) {
      number = number * 10 + static_cast<std::uint64_t>(rest[digits++] - '0');
    }
    const bool ends = digits < rest.size() && (rest[digits] == '.' || rest[digits] == '_');
    if (digits > 0 && ends && number < kMost) found = std::max(found, number + 1);
  }
  return found;
}

std::uint64_t TensorView::count(std::string_view begin, std::string_view end) const noexcept {
  std::uint64_t found = 0;
  const bool packed = index_->packs() && end.size() > kWeight.size() && end.ends_with(kWeight);
  const std::string_view stem = packed ? end.substr(0, end.size() - kWeight.size()) : end;
  for (const std::uint32_t id : members_) {
    std::string_view name = at(id).name;
    if (!name.starts_with(prefix_)) continue;
    name.remove_prefix(prefix_.size());
    if (!name.starts_with(begin)) continue;
    if (name.ends_with(end) || (packed && packed_stem(name).ends_with(stem))) ++found;
  }
  return found;
}

bool TensorView::any(std::string_view begin) const noexcept {
  return std::any_of(members_.begin(), members_.end(), [&](std::uint32_t id) {
    const std::string_view name = at(id).name;
    if (name.size() >= outer_ && name.substr(outer_).starts_with(begin)) return true;
    return name.starts_with(prefix_) && name.substr(prefix_.size()).starts_with(begin);
  });
}

}  // namespace genscope::inspect

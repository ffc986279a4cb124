#include "inspect/read/tensor_list.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "inspect/read/byte_source.h"

namespace genscope::inspect {

bool ShapeBuilder::add(std::uint64_t size) noexcept {
  if (__builtin_mul_overflow(elements_, size, &elements_)) return false;
  if (shape_.rank < Shape::kMaxRank) {
    shape_.sizes[shape_.rank++] = size;
    return true;
  }
  folded_ = true;
  // Fits where the whole product does, unless an earlier size is 0.
  return !__builtin_mul_overflow(shape_.sizes.back(), size, &shape_.sizes.back());
}

namespace {

std::optional<std::size_t> find_duplicate_by_sorting(std::span<const Tensor> tensors) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto name = [&](std::uint32_t i) { return tensors[i].name; };
  std::ranges::sort(order, {}, name);
  const auto twice = std::ranges::adjacent_find(order, {}, name);
  if (twice == order.end()) return std::nullopt;
  return std::max(twice[0], twice[1]);
}

}  // namespace

std::optional<std::size_t> find_duplicate(std::span<const Tensor> tensors) {
  std::size_t probes = 64 + 16 * tensors.size();
  const std::size_t slots = std::bit_ceil(tensors.size() + tensors.size() / 2 + 1);
  std::vector<std::uint32_t> table(slots, 0);  // index + 1
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::size_t at = std::hash<std::string_view>{}(tensors[i].name) & (slots - 1);
    for (; table[at] != 0; at = (at + 1) & (slots - 1)) {
      if (tensors[table[at] - 1].name == tensors[i].name) return i;
      if (--probes == 0) return find_duplicate_by_sorting(tensors);
    }
    table[at] = static_cast<std::uint32_t>(i + 1);
  }
  return std::nullopt;
}

void Tally::add(std::string_view name) {
  if (count_++ == 0) first_ = shown(name);
}

void Tally::note(std::vector<std::string>& notes, std::string_view what) const {
  if (count_ == 0) return;
  std::string text = std::to_string(count_) + (count_ == 1 ? " tensor " : " tensors ");
  notes.push_back(text.append(what).append(" (the first: ").append(first_).append(")"));
}

}  // namespace genscope::inspect

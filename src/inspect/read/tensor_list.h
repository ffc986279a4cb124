// What all readers check of the tensors they find.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "genscope/inspect.h"

namespace genscope::inspect {

// Sizes one by one, outermost first. A legal file may have more of them than Shape holds: those
// beyond are multiplied into the last, so that the count of elements stays right.
class ShapeBuilder {
 public:
  // False if the product does not fit in 64 bits.
  bool add(std::uint64_t size) noexcept;
  const Shape& shape() const noexcept { return shape_; }
  bool folded() const noexcept { return folded_; }
  std::uint64_t elements() const noexcept { return elements_; }

 private:
  Shape shape_;
  std::uint64_t elements_ = 1;
  bool folded_ = false;
};

// Index of a tensor whose name another one before it has, if any. Linear, twelve bytes of memory a
// tensor at most; names that were made to collide are sorted instead.
std::optional<std::size_t> find_duplicate(std::span<const Tensor> tensors);

// Things that are noted once for a file, with how many there were and the first one's name.
class Tally {
 public:
  void add(std::string_view name);
  // "3 tensors <what> (the first: NAME)", if there were any.
  void note(std::vector<std::string>& notes, std::string_view what) const;

 private:
  std::uint64_t count_ = 0;
  std::string first_;
};

// More entries than any real file has would cost more memory than the header itself.
constexpr std::size_t kMaxMetadata = 4096;

}  // namespace genscope::inspect

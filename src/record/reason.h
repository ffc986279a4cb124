// A sentence of bounded length that needs no memory: why recording is off, when memory may be what
// ran out.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace genscope::record {

class Reason {
 public:
  Reason() = default;
  explicit Reason(std::string_view text) noexcept { *this << text; }

  Reason& operator<<(std::string_view text) noexcept {
    const std::size_t n = std::min(text.size(), text_.size() - size_);
    std::memcpy(text_.data() + size_, text.data(), n);
    size_ += n;
    return *this;
  }
  Reason& operator<<(std::uint64_t number) noexcept {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 640> text_;
  std::size_t size_ = 0;
};

}  // namespace genscope::record

// The characters of UTF-8 text that others wrote: decoded, judged, measured in terminal columns.
#pragma once

#include <cstddef>
#include <string_view>

namespace genscope::base {

inline constexpr char32_t kInvalidCharacter = 0xFFFFFFFF;

struct Character {
  std::string_view bytes;
  char32_t code = kInvalidCharacter;
};

// The character at the start of non-empty text; a byte that is not UTF-8 stands alone.
Character next_character(std::string_view text) noexcept;

// Controls, what reorders text or breaks lines, invisible format characters, invalid bytes: nothing
// that may reach a terminal.
bool is_unsafe(char32_t code) noexcept;

// Columns of a terminal: wide characters two, combining ones none.
std::size_t columns(char32_t code) noexcept;
std::size_t columns(std::string_view text) noexcept;

}  // namespace genscope::base

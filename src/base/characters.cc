#include "base/characters.h"

#include <array>

namespace genscope::base {
namespace {

bool within(char32_t code, char32_t first, char32_t last) { return code >= first && code <= last; }

}  // namespace

Character next_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {text.substr(0, 1), lead};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  const Character invalid{text.substr(0, 1), kInvalidCharacter};
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return invalid;
  char32_t code = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return invalid;
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[length] || code > 0x10FFFF || surrogate) return invalid;
  return {text.substr(0, length), code};
}

bool is_unsafe(char32_t code) noexcept {
  return code == kInvalidCharacter || code < 0x20 || within(code, 0x7F, 0x9F) ||
         within(code, 0x200E, 0x200F) || within(code, 0x2028, 0x202E) ||
         within(code, 0x2060, 0x206F) || code == 0xFEFF || within(code, 0xE0000, 0xE0FFF);
}

std::size_t columns(char32_t code) noexcept {
  if (within(code, 0x300, 0x36F) || within(code, 0x200B, 0x200D) || within(code, 0xFE00, 0xFE0F)) {
    return 0;
  }
  const bool wide = within(code, 0x1100, 0x115F) || within(code, 0x2E80, 0xA4CF) ||
                    within(code, 0xAC00, 0xD7A3) || within(code, 0xF900, 0xFAFF) ||
                    within(code, 0xFE30, 0xFE6F) || within(code, 0xFF00, 0xFF60) ||
                    within(code, 0xFFE0, 0xFFE6) || within(code, 0x1F300, 0x1FAFF) ||
                    within(code, 0x20000, 0x3FFFD);
  return wide ? 2 : 1;
}

std::size_t columns(std::string_view text) noexcept {
  std::size_t sum = 0;
  while (!text.empty()) {
    const Character c = next_character(text);
    text.remove_prefix(c.bytes.size());
    sum += columns(c.code);
  }
  return sum;
}

}  // namespace genscope::base

#include "bench/http/base64.h"

#include <cstdint>

namespace genscope::bench {
namespace {

int base64_digit(char c) noexcept {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kMark = ";base64,";
  if (text.starts_with("data:")) {
    const std::size_t mark = text.substr(0, 128).find(kMark);
    if (mark == std::string_view::npos) return std::nullopt;
    text.remove_prefix(mark + kMark.size());
  }
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  std::size_t digits = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (c == '=') {
      if (++padding > 2) return std::nullopt;
      continue;
    }
    const int digit = base64_digit(c);
    if (digit < 0 || padding > 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if (++digits % 4 != 0) continue;
    for (const int shift : {16, 8, 0}) out += static_cast<char>(bits >> shift & 0xff);
  }
  if (digits % 4 == 1) return std::nullopt;
  if (digits % 4 >= 2) out += static_cast<char>(bits >> (digits % 4 == 2 ? 4 : 10) & 0xff);
  if (digits % 4 == 3) out += static_cast<char>(bits >> 2 & 0xff);
  return out;
}

}  // namespace genscope::bench

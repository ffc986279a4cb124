#include "cli/watch/cells.h"

#include <array>

namespace genscope::cli::watch {
namespace {

constexpr char32_t kInvalid = 0xFFFFFFFF;

struct Character {
  std::string_view bytes;
  char32_t code = kInvalid;
};

// The character at the start of non-empty text; a byte that is not UTF-8 stands alone.
Character next(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {text.substr(0, 1), lead};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  const Character invalid{text.substr(0, 1), kInvalid};
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

bool within(char32_t code, char32_t first, char32_t last) { return code >= first && code <= last; }

bool is_unsafe(char32_t code) {
  return code == kInvalid || code < 0x20 || within(code, 0x7F, 0x9F) ||
         within(code, 0x200E, 0x200F) || within(code, 0x2028, 0x202E) ||
         within(code, 0x2060, 0x206F) || code == 0xFEFF || within(code, 0xE0000, 0xE0FFF);
}

std::size_t width(char32_t code) {
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

const char* sgr(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::bold:
      return "\x1b[1m";
    case Style::dim:
      return "\x1b[2m";
    case Style::good:
      return "\x1b[32m";
    case Style::warn:
      return "\x1b[33m";
    case Style::bad:
      return "\x1b[31m";
  }
  return "";
}

}  // namespace

std::string clean(std::string_view text, bool unicode) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = next(text);
    text.remove_prefix(c.bytes.size());
    if (is_unsafe(c.code) || (!unicode && c.code >= 0x80)) {
      out += '?';
    } else {
      out += c.bytes;
    }
  }
  return out;
}

std::size_t columns(std::string_view text) {
  std::size_t sum = 0;
  while (!text.empty()) {
    const Character c = next(text);
    text.remove_prefix(c.bytes.size());
    sum += width(c.code);
  }
  return sum;
}

std::string cut(std::string_view text, std::size_t limit) {
  std::size_t used = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const Character c = next(rest);
    if (used + width(c.code) > limit) break;
    used += width(c.code);
    rest.remove_prefix(c.bytes.size());
  }
  return std::string(text.substr(0, text.size() - rest.size()));
}

Line& Line::add(std::string_view text, Style style) {
  const std::string piece = cut(clean(text, look_.unicode), room_);
  if (piece.empty()) return *this;
  room_ -= columns(piece);
  const bool styled = look_.color && style != Style::plain;
  if (styled) text_ += sgr(style);
  text_ += piece;
  if (styled) text_ += "\x1b[0m";
  return *this;
}

bool Line::add_whole(std::string_view text, Style style) {
  const std::size_t gap = column() == 0 ? 0 : 2;
  if (columns(clean(text, look_.unicode)) + gap > room_) return false;
  if (gap != 0) add("  ");
  add(text, style);
  return true;
}

Line& Line::to_column(std::size_t wanted) {
  if (wanted > column()) add(std::string(wanted - column(), ' '));
  return *this;
}

}  // namespace genscope::cli::watch

#include "report/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace genscope::report {
namespace {

constexpr char32_t kInvalid = 0xFFFFFFFF;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

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
  return code < 0x20 || within(code, 0x7F, 0x9F) || within(code, 0x200E, 0x200F) ||
         within(code, 0x2028, 0x202E) || within(code, 0x2066, 0x2069) || code == 0xFEFF;
}

std::string escape(char32_t code) {
  const auto value = static_cast<std::uint32_t>(code);
  switch (value) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return value < 0x80 ? fmt::format("\\x{:02x}", value) : fmt::format("\\u{:04x}", value);
  }
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

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = next(text);
    text.remove_prefix(c.bytes.size());
    const bool line = c.code == '\n' || c.code == '\r' || c.code == '\t';
    if (c.code == kInvalid) {
      out += kReplacement;
    } else if (is_unsafe(c.code) && !(line && lines == Lines::keep)) {
      out += escape(c.code);
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

std::string shorten(std::string_view text, std::size_t limit) {
  if (columns(text) <= limit) return std::string(text);
  if (limit == 0) return {};
  std::vector<Character> characters;
  for (std::string_view rest = text; !rest.empty();) {
    characters.push_back(next(rest));
    rest.remove_prefix(characters.back().bytes.size());
  }
  const std::size_t kept = limit - 1;
  std::string head;
  std::size_t used = 0;
  for (const Character& c : characters) {
    if (used + width(c.code) > kept - kept / 2) break;
    used += width(c.code);
    head += c.bytes;
  }
  std::size_t from = characters.size();
  while (from > 0 && used + width(characters[from - 1].code) <= kept) {
    used += width(characters[--from].code);
  }
  std::string tail;
  for (; from < characters.size(); ++from) tail += characters[from].bytes;
  return head + std::string(kEllipsis) + tail;
}

std::string wrap(std::string_view text, std::size_t limit) {
  std::string out;
  std::string line;
  bool empty = true;  // apart from its indent
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!empty && columns(line) + 1 + columns(word) > limit) {
      out += line + "\n";
      line = "  ";
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
    at = end + 1;
  }
  return out + line;
}

std::string csv_field(std::string_view text) {
  std::string field = printable(text, Lines::keep);
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace genscope::report

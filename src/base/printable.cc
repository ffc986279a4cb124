#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/characters.h"

namespace genscope::base {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

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
      if (value < 0x80) return fmt::format("\\x{:02x}", value);
      return value < 0x10000 ? fmt::format("\\u{:04x}", value) : fmt::format("\\U{:08x}", value);
  }
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = next_character(text);
    text.remove_prefix(c.bytes.size());
    const bool line = c.code == '\n' || c.code == '\r' || c.code == '\t';
    if (c.code == kInvalidCharacter) {
      out += kReplacement;
    } else if (is_unsafe(c.code) && !(line && lines == Lines::keep)) {
      out += escape(c.code);
    } else {
      out += c.bytes;
    }
  }
  return out;
}

std::string shorten(std::string_view text, std::size_t limit) {
  if (columns(text) <= limit) return std::string(text);
  if (limit == 0) return {};
  std::vector<Character> characters;
  for (std::string_view rest = text; !rest.empty();) {
    characters.push_back(next_character(rest));
    rest.remove_prefix(characters.back().bytes.size());
  }
  const std::size_t kept = limit - 1;
  std::string head;
  std::size_t used = 0;
  for (const Character& c : characters) {
    if (used + columns(c.code) > kept - kept / 2) break;
    used += columns(c.code);
    head += c.bytes;
  }
  std::size_t from = characters.size();
  while (from > 0 && used + columns(characters[from - 1].code) <= kept) {
    used += columns(characters[--from].code);
  }
  std::string tail;
  for (; from < characters.size(); ++from) tail += characters[from].bytes;
  return head + std::string(kEllipsis) + tail;
}

namespace {

bool is_formula(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('\''), text.size()));
  if (text.empty()) return false;
  if (std::string_view("=+-@\t\r\n").find(text[0]) != std::string_view::npos) return true;
  for (const std::string_view wide : {"\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"}) {
    if (text.starts_with(wide)) return true;
  }
  return false;
}

}  // namespace

std::string csv_field(std::string_view text) {
  std::string field = printable(text, Lines::keep);
  if (is_formula(field)) field.insert(field.begin(), '\'');
  // Some spreadsheets cut at semicolons and tabs, too.
  if (field.find_first_of(",;\t\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace genscope::base

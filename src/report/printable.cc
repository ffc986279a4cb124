#include "report/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/characters.h"

namespace genscope::report {
namespace {

using base::columns;

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
    const base::Character c = base::next_character(text);
    text.remove_prefix(c.bytes.size());
    const bool line = c.code == '\n' || c.code == '\r' || c.code == '\t';
    if (c.code == base::kInvalidCharacter) {
      out += kReplacement;
    } else if (base::is_unsafe(c.code) && !(line && lines == Lines::keep)) {
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
  std::vector<base::Character> characters;
  for (std::string_view rest = text; !rest.empty();) {
    characters.push_back(base::next_character(rest));
    rest.remove_prefix(characters.back().bytes.size());
  }
  const std::size_t kept = limit - 1;
  std::string head;
  std::size_t used = 0;
  for (const base::Character& c : characters) {
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

std::string markdown_text(std::string_view printable) {
  constexpr std::string_view kMarkup = "\\`*_[]<>|~&#$";
  std::string out;
  for (const char c : printable) {
    if (kMarkup.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
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

#include "report/printable.h"

#include <algorithm>

namespace genscope::report {

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

}  // namespace genscope::report

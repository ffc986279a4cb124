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

std::string shell_word(std::string_view word) {
  constexpr std::string_view kSpecial = " \"'`$\\|&;<>()*?[]{}!#~";
  const auto is_control = [](char c) { return c == '\n' || c == '\t' || c == '\r'; };
  const bool controls = std::any_of(word.begin(), word.end(), is_control);
  if (!controls && !word.empty() && word.find_first_of(kSpecial) == word.npos) {
    return std::string(word);
  }
  std::string out = controls ? "$'" : "'";
  for (const char c : word) {
    if (is_control(c)) {
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    } else if (c == '\'') {
      out += controls ? "\\'" : "'\\''";
    } else if (c == '\\' && controls) {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out + '\'';
}

}  // namespace genscope::report

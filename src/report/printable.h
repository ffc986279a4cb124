// Text that others wrote (names, commands, notes), made fit for a terminal or a file.
//
// Names come out of traces and are not to be trusted: an escape sequence in one must not reach the
// terminal, and bytes that are not UTF-8 must not reach a consumer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/characters.h"

namespace genscope::report {

enum class Lines { escape, keep };

// Controls, bidirectional overrides and line separators become escapes (\n, \x1b, \u202e); bytes
// that are not UTF-8 become U+FFFD. `keep` leaves tab, CR and LF as they are.
std::string printable(std::string_view text, Lines lines = Lines::escape);

using base::columns;  // that printable text takes in a terminal

// At most `limit` columns of printable text: the middle gives way to an ellipsis.
std::string shorten(std::string_view text, std::size_t limit);

// Printable text broken at spaces into lines of at most `limit` columns, where words allow it;
// lines after the first are indented by two.
std::string wrap(std::string_view text, std::size_t limit);

// Printable text for Markdown: what would be markup, a cell's border or HTML is escaped.
std::string markdown_text(std::string_view printable);

// A field of a CSV file as in RFC 4180: quoted when it must be, quotes doubled.
std::string csv_field(std::string_view text);

// A command line, its words quoted as a shell would need them; printable.
template <class Words>
std::string command_line(const Words& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    const bool plain =
        !word.empty() && word.find_first_of(" \t\n\"'`$\\|&;<>()*?[]{}!#~") == std::string::npos;
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) {
      if (c == '\'') {
        line += "'\\''";
      } else {
        line += c;
      }
    }
    line += '\'';
  }
  return printable(line);
}

}  // namespace genscope::report

// Text that others wrote, as base/printable.h makes it fit, broken into lines and for Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/characters.h"
#include "base/printable.h"

namespace genscope::report {

using base::columns;    // that printable text takes in a terminal
using base::csv_field;  // as in RFC 4180
using base::Lines;
using base::printable;
using base::shorten;

// Printable text broken at spaces into lines of at most `limit` columns, where words allow it;
// lines after the first are indented by two.
std::string wrap(std::string_view text, std::size_t limit);

// Printable text for Markdown: what would be markup, a cell's border or HTML is escaped.
std::string markdown_text(std::string_view printable);

// A word as a shell would need it: as it is, '...', or $'...' if it has control characters.
std::string shell_word(std::string_view word);

// A command line that a shell would read as these words; printable, in one line.
template <class Words>
std::string command_line(const Words& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += shell_word(word);
  }
  return printable(line);
}

}  // namespace genscope::report

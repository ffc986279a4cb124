// Text in the cells of a terminal: made harmless, measured, cut, coloured.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/characters.h"

namespace genscope::watch {

// Text that others wrote, fit for one line: controls, what reorders text and bytes that are not
// UTF-8 become '?'; without `unicode` so does all that is not ASCII.
std::string clean(std::string_view text, bool unicode = true);

using base::columns;  // that clean text takes

// The longest start of clean text in at most `limit` columns, never half a character.
std::string cut(std::string_view text, std::size_t limit);

// A word as a shell would need it.
std::string shell_quoted(std::string_view word);

// The words of a command as one line, quoted as a shell would need them. Not yet clean.
template <class Words>
std::string joined(const Words& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += shell_quoted(word);
  }
  return line;
}

enum class Style { plain, bold, dim, good, warn, bad };

// What the terminal can show.
struct Look {
  std::size_t width = 80;
  bool color = false;
  bool unicode = true;
};

// A line that never becomes wider than the terminal, whatever is added.
class Line {
 public:
  explicit Line(const Look& look) : look_(look), room_(look.width) {}

  // Cleans `text` and adds as much of it as there is room for.
  Line& add(std::string_view text, Style style = Style::plain);
  // Adds all of it, two blanks before it unless the line is empty; or nothing and false.
  bool add_whole(std::string_view text, Style style = Style::plain);
  // Blanks up to this column, if it is not reached yet.
  Line& to_column(std::size_t column);
  std::size_t room() const { return room_; }
  std::size_t column() const { return look_.width - room_; }
  const std::string& text() const { return text_; }

 private:
  Look look_;
  std::size_t room_;
  std::string text_;
};

}  // namespace genscope::watch

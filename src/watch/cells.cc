#include "watch/cells.h"

#include "report/printable.h"

namespace genscope::watch {
namespace {

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

std::string shell_quoted(std::string_view word) { return report::shell_word(word); }

std::string clean(std::string_view text, bool unicode) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const base::Character c = base::next_character(text);
    text.remove_prefix(c.bytes.size());
    if (base::is_unsafe(c.code) || (!unicode && c.code >= 0x80)) {
      out += '?';
    } else {
      out += c.bytes;
    }
  }
  return out;
}

std::string cut(std::string_view text, std::size_t limit) {
  std::size_t used = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const base::Character c = base::next_character(rest);
    if (used + columns(c.code) > limit) break;
    used += columns(c.code);
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

}  // namespace genscope::watch

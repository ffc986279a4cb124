// Text that others wrote (names, commands, notes), made fit for a terminal or a file.
//
// Names come out of programs and traces and are not to be trusted: an escape sequence in one must
// not reach the terminal, and bytes that are not UTF-8 must not reach a consumer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace genscope::base {

enum class Lines { escape, keep };

// Controls, bidirectional overrides and line separators become escapes (\n, \x1b, \u202e); bytes
// that are not UTF-8 become U+FFFD. `keep` leaves tab, CR and LF as they are.
std::string printable(std::string_view text, Lines lines = Lines::escape);

// At most `limit` columns of printable text: the middle gives way to an ellipsis.
std::string shorten(std::string_view text, std::size_t limit);

// A text as a field of a CSV file, as in RFC 4180: quoted when it must be, quotes doubled.
//
// A spreadsheet takes a field that begins with = + - @ (or their full-width forms), tab, CR or LF
// for a formula, and runs it. Such a text gets an apostrophe in front, and so does one that begins
// with apostrophes before one of these. A program gets the text back by dropping one apostrophe
// from a field in which one or more of them are followed by one of these.
std::string csv_field(std::string_view text);

}  // namespace genscope::base

// A condition as tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "genscope/error.h"

namespace genscope::advice {

inline constexpr std::size_t kMaxConditionBytes = 2000;

struct Token {
  enum class Kind { number, text, word, symbol, end } kind = Kind::end;
  std::string_view text;  // of a text, without its quotes; of a word, with its [key]
  double number = 0;
  std::size_t at = 0;  // byte of the condition
};

// "at 14: ...": what is wrong where, counted from 1.
Error error_in(std::size_t at, std::string_view what);

// Tokens, the last of kind `end`. They point into `condition`. Numbers are decimal and finite;
// texts stand in single or double quotes and have no escapes.
Result<std::vector<Token>> tokens(std::string_view condition);

}  // namespace genscope::advice

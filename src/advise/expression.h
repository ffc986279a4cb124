// Expression: a condition, parsed and typed. No loops, no code, no names but those that it is given
// (those of fact_names.h for a rule, the axes for a benchmark's matrix); depth and length are
// bounded, so that any text costs little.
//
//   or      = and {"||" and}
//   and     = compare {"&&" compare}
//   compare = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
//   sum     = product {("+" | "-") product}
//   product = unary {("*" | "/") unary}
//   unary   = ("!" | "-") unary | "(" or ")" | number | text | true | false | fact | call
//   call    = name "(" or {"," or} ")"
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/advise.h>

#include "advise/fact_names.h"

namespace genscope::advice {

inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxFacts = 64;  // that one condition names

enum class Op : std::uint8_t {
  literal,
  fact,
  not_,
  negate,
  and_,
  or_,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  add,
  subtract,
  multiply,
  divide,
  has,
  min,
  max,
  abs,
  contains,
  one_of,
  version,
};

struct Node {
  Op op = Op::literal;
  FactType type = FactType::flag;
  FactValue value;                  // of a literal; of a fact, its name
  std::vector<std::uint32_t> args;  // nodes before this one
};

// What a condition may name.
struct Names {
  std::function<std::optional<FactType>(std::string_view)> type;  // nothing: no such name
  // For a name that is not there: "no fact is called 'x'; did you mean 'y'?".
  std::function<std::string(std::string_view)> unknown;
};
const Names& rule_names();  // the table of facts

enum class Truth : std::uint8_t { no, yes, unknown };

struct Outcome {
  Truth truth = Truth::unknown;
  // Of `unknown`: the facts that would have decided, each once, with the reason.
  std::vector<std::pair<std::string, std::string>> missing;
};

class Expression {
 public:
  // The error says "at <position>: what; remedy".
  static Result<Expression> parse(std::string_view condition, const Names& names = rule_names());

  // A missing fact makes what it is part of unknown, unless the rest decides: false && unknown is
  // false, true || unknown is true. So does a fact of another type than the table's, and a
  // quotient or a sum that is not finite.
  Outcome evaluate(const Facts& facts) const;

  // Every fact that is named, in order, each once.
  const std::vector<std::string>& facts() const noexcept { return facts_; }

 private:
  friend class Parser;
  std::vector<Node> nodes_;  // the last is the root
  std::vector<std::string> facts_;
};

// "2.9.1+cu128" -> 2009001: of up to three numbers below 1000. False if it does not begin with one.
bool version_number(std::string_view text, double& number) noexcept;

}  // namespace genscope::advice

// Recursive descent, one function for each level of the grammar in the header, and types checked on
// the way up: a node is made only of children whose types fit, so evaluation never has to ask.
//
// Nodes are appended as they are finished, so children come before their parents and the last is
// the root: evaluation is one loop over the list in order (evaluate.cc) and no recursion. Depth is
// bounded by kMaxDepth on the way down, the number of facts by kMaxFacts: any text of any length is
// refused or parsed in time linear in its tokens.
#include "advise/expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "advise/tokens.h"
#include "base/suggest.h"
#include "config/yaml.h"

namespace genscope::advice {
namespace {

struct Binary {
  std::string_view symbol;
  Op op;
};
constexpr Binary kCompare[] = {{"<", Op::less},    {"<=", Op::less_equal},
                               {">", Op::greater}, {">=", Op::greater_equal},
                               {"==", Op::equal},  {"!=", Op::not_equal}};
constexpr Binary kSum[] = {{"+", Op::add}, {"-", Op::subtract}};
constexpr Binary kProduct[] = {{"*", Op::multiply}, {"/", Op::divide}};
constexpr Binary kAnd[] = {{"&&", Op::and_}};
constexpr Binary kOr[] = {{"||", Op::or_}};

struct Function {
  std::string_view name;
  Op op;
  std::size_t least, most;  // arguments
  std::string_view use;
};
constexpr std::size_t kMany = 32;
constexpr Function kFunctions[] = {
    {"has", Op::has, 1, 1, "has(steps.steady_p50_ns)"},
    {"min", Op::min, 2, kMany, "min(a, b)"},
    {"max", Op::max, 2, kMany, "max(a, b)"},
    {"abs", Op::abs, 1, 1, "abs(x)"},
    {"contains", Op::contains, 2, 2, "contains(text, part)"},
    {"one_of", Op::one_of, 2, kMany, "one_of(set.attn, \"math\", \"naive\")"},
    {"version", Op::version, 1, 1, "version(env.torch) >= version(\"2.9\")"},
};

}  // namespace

class Parser {
 public:
  using Index = std::uint32_t;

  Parser(std::vector<Token> tokens, const Names& names)
      : tokens_(std::move(tokens)), names_(names) {}

  Result<Expression> run() {
    if (now().kind == Token::Kind::end) return error_in(0, "an empty condition");
    const Result<Index> root = or_level();
    if (!root) return root.error();
    if (now().kind != Token::Kind::end) return stray();
    if (type(*root) != FactType::flag) {
      return error_in(0, fmt::format("a condition is true or false, this is {}; compare it with "
                                     "something",
                                     name(type(*root))));
    }
    return std::move(made_);
  }

 private:
  const Token& now() const { return tokens_[next_]; }
  FactType type(Index node) const { return made_.nodes_[node].type; }

  bool accept(std::string_view symbol) {
    if (now().kind != Token::Kind::symbol || now().text != symbol) return false;
    ++next_;
    return true;
  }

  Index add(Node node) {
    made_.nodes_.push_back(std::move(node));
    return static_cast<Index>(made_.nodes_.size() - 1);
  }

  Error stray() const {
    const Token& token = now();
    if (token.kind == Token::Kind::end) return error_in(token.at, "the condition ends too early");
    const bool compares = std::any_of(std::begin(kCompare), std::end(kCompare), [&](auto& binary) {
      return token.kind == Token::Kind::symbol && binary.symbol == token.text;
    });
    if (compares) {
      return error_in(token.at, "comparisons do not chain; write a < b && b < c");
    }
    if (token.text == "and" || token.text == "or" || token.text == "not") {
      return error_in(token.at, "`and`, `or`, `not` are written &&, ||, !");
    }
    return error_in(token.at,
                    fmt::format("'{}' is not expected here", config::printable(token.text)));
  }

  // The type that both sides must have, or the error.
  Status check(std::size_t at, std::string_view what, FactType wanted, Index node) const {
    if (type(node) == wanted) return Done{};
    return error_in(at,
                    fmt::format("{} takes {}, this is {}", what, name(wanted), name(type(node))));
  }

  template <std::size_t N>
  const Binary* match(const Binary (&table)[N]) const {
    if (now().kind != Token::Kind::symbol) return nullptr;
    for (const Binary& binary : table) {
      if (binary.symbol == now().text) return &binary;
    }
    return nullptr;
  }

  // A level whose operators take and give one type, from left to right.
  template <std::size_t N, class Next>
  Result<Index> level(const Binary (&table)[N], FactType wanted, Next next) {
    Result<Index> left = (this->*next)();
    if (!left) return left;
    while (const Binary* binary = match(table)) {
      const std::size_t at = now().at;
      ++next_;
      Result<Index> right = (this->*next)();
      if (!right) return right;
      for (const Index side : {*left, *right}) {
        if (const Status fits = check(at, binary->symbol, wanted, side); !fits) return fits.error();
      }
      left = add({binary->op, wanted, {}, {*left, *right}});
    }
    return left;
  }

  Result<Index> or_level() { return level(kOr, FactType::flag, &Parser::and_level); }
  Result<Index> and_level() { return level(kAnd, FactType::flag, &Parser::compare_level); }
  Result<Index> sum_level() { return level(kSum, FactType::number, &Parser::product_level); }
  Result<Index> product_level() { return level(kProduct, FactType::number, &Parser::unary); }

  Result<Index> compare_level() {
    Result<Index> left = sum_level();
    if (!left) return left;
    const Binary* const binary = match(kCompare);
    if (binary == nullptr) return left;
    const std::size_t at = now().at;
    ++next_;
    Result<Index> right = sum_level();
    if (!right) return right;
    const bool equality = binary->op == Op::equal || binary->op == Op::not_equal;
    const FactType wanted = equality ? type(*left) : FactType::number;
    for (const Index side : {*left, *right}) {
      if (const Status fits = check(at, binary->symbol, wanted, side); !fits) return fits.error();
    }
    return add({binary->op, FactType::flag, {}, {*left, *right}});
  }

  // Counts the depth of what recurses: parentheses, calls, ! and -.
  class Deeper {
   public:
    explicit Deeper(std::size_t& depth) : depth_(depth) { ++depth_; }
    ~Deeper() { --depth_; }

   private:
    std::size_t& depth_;
  };

  Result<Index> unary() {
    const Deeper deeper(depth_);
    const Token token = now();
    if (depth_ > kMaxDepth) {
      return error_in(token.at, fmt::format("nested deeper than {} levels", kMaxDepth));
    }
    if (accept("!")) return prefixed(token.at, "!", Op::not_, FactType::flag);
    if (accept("-")) return prefixed(token.at, "-", Op::negate, FactType::number);
    if (accept("(")) return parenthesis(token.at);
    if (token.kind == Token::Kind::symbol || token.kind == Token::Kind::end) return stray();
    ++next_;
    if (token.kind == Token::Kind::number) {
      return add({Op::literal, FactType::number, token.number, {}});
    }
    if (token.kind == Token::Kind::text) {
      return add({Op::literal, FactType::text, std::string(token.text), {}});
    }
    if (token.text == "true" || token.text == "false") {
      return add({Op::literal, FactType::flag, token.text == "true", {}});
    }
    if (accept("(")) return call(token);
    return fact(token);
  }

  Result<Index> prefixed(std::size_t at, std::string_view symbol, Op op, FactType wanted) {
    Result<Index> operand = unary();
    if (!operand) return operand;
    if (const Status fits = check(at, symbol, wanted, *operand); !fits) return fits.error();
    return add({op, wanted, {}, {*operand}});
  }

  Result<Index> parenthesis(std::size_t at) {
    Result<Index> inside = or_level();
    if (!inside) return inside;
    if (accept(")")) return inside;
    if (now().kind == Token::Kind::end) return error_in(at, "this ( is never closed");
    return stray();
  }

  Result<Index> fact(const Token& token) {
    const std::optional<FactType> known = names_.type(token.text);
    if (!known) return error_in(token.at, names_.unknown(token.text));
    const std::string text(token.text);
    auto& named = made_.facts_;
    if (std::find(named.begin(), named.end(), text) == named.end()) named.push_back(text);
    if (named.size() > kMaxFacts) {
      return error_in(token.at, fmt::format("more than {} facts; make it two rules", kMaxFacts));
    }
    return add({Op::fact, *known, text, {}});
  }

  Result<Index> call(const Token& token) {
    const auto function =
        std::find_if(std::begin(kFunctions), std::end(kFunctions),
                     [&](const Function& known) { return known.name == token.text; });
    if (function == std::end(kFunctions)) {
      return error_in(token.at,
                      fmt::format("no function is called '{}'; there are has, min, max, abs, "
                                  "contains, one_of, version",
                                  config::printable(token.text)));
    }
    Node node{function->op, FactType::number, {}, {}};
    do {
      Result<Index> argument = or_level();
      if (!argument) return argument;
      node.args.push_back(*argument);
    } while (node.args.size() <= kMany && accept(","));
    if (!accept(")")) return stray();
    if (node.args.size() < function->least || node.args.size() > function->most) {
      return error_in(token.at, fmt::format("{} has another number of arguments; write {}",
                                            function->name, function->use));
    }
    return typed_call(token.at, *function, std::move(node));
  }

  Result<Index> typed_call(std::size_t at, const Function& function, Node node) {
    FactType wanted = FactType::number;
    if (function.op == Op::has && made_.nodes_[node.args[0]].op != Op::fact) {
      return error_in(at, "has() takes the name of a fact; write has(steps.steady_p50_ns)");
    }
    if (function.op == Op::contains || function.op == Op::version) wanted = FactType::text;
    if (function.op == Op::one_of || function.op == Op::has) wanted = type(node.args[0]);
    for (const Index argument : node.args) {
      const Status fits = check(at, function.name, wanted, argument);
      if (!fits) return fits.error();
    }
    const bool flag =
        function.op == Op::has || function.op == Op::contains || function.op == Op::one_of;
    node.type = flag ? FactType::flag : FactType::number;
    return add(std::move(node));
  }

  std::vector<Token> tokens_;
  const Names& names_;
  std::size_t next_ = 0;
  std::size_t depth_ = 0;
  Expression made_;
};

const Names& rule_names() {
  static const Names kNames = {
      .type = [](std::string_view fact) -> std::optional<FactType> {
        const FactName* const row = find_fact(fact);
        if (row == nullptr) return std::nullopt;
        return row->type;
      },
      .unknown =
          [](std::string_view fact) {
            const std::string meant = nearest_fact(fact);
            return fmt::format(
                "no fact is called '{}'; {}", config::printable(fact),
                meant.empty() ? "docs/rules.md lists them" : "did you mean '" + meant + "'?");
          },
  };
  return kNames;
}

Result<Expression> Expression::parse(std::string_view condition, const Names& names) {
  Result<std::vector<Token>> split = tokens(condition);
  if (!split) return std::move(split).error();
  return Parser(std::move(split).value(), names).run();
}

}  // namespace genscope::advice

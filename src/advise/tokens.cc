#include "advise/tokens.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "config/yaml.h"

namespace genscope::advice {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> all() {
    std::vector<Token> out;
    while (true) {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      if (at_ == text_.size()) break;
      Result<Token> token = next();
      if (!token) return std::move(token).error();
      out.push_back(*token);
    }
    out.push_back({Token::Kind::end, {}, 0, at_});
    return out;
  }

 private:
  Result<Token> next() {
    const char c = text_[at_];
    if (is_digit(c)) return number();
    if (starts_word(c)) return word();
    if (c == '"' || c == '\'') return quoted(c);
    return symbol();
  }

  Token take(Token::Kind kind, std::size_t length) {
    const Token token{kind, text_.substr(at_, length), 0, at_};
    at_ += length;
    return token;
  }

  Result<Token> number() {
    double value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, failed] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (failed != std::errc{} || !std::isfinite(value)) {
      return error_in(at_, "a number that is too large; facts are below 1e308");
    }
    Token token = take(Token::Kind::number, static_cast<std::size_t>(end - begin));
    token.number = value;
    if (at_ < text_.size() && (starts_word(text_[at_]) || text_[at_] == '%')) {
      return error_in(at_, "a number has no unit; write 30 % as 0.3 and 1 GB as 1e9");
    }
    return token;
  }

  Result<Token> word() {
    std::size_t end = at_;
    const auto inside = [&] {
      return end < text_.size() &&
             (starts_word(text_[end]) || is_digit(text_[end]) || text_[end] == '.');
    };
    while (inside()) ++end;
    if (end < text_.size() && text_[end] == '[') {
      const std::size_t close = text_.find_first_of("]\n", end);
      if (close == std::string_view::npos || text_[close] != ']') {
        return error_in(
            end,
            "this [ is never closed; a key stands in brackets, stage_groups.exclusive_share[save]");
      }
      end = close + 1;
    }
    return take(Token::Kind::word, end - at_);
  }

  Result<Token> quoted(char quote) {
    const std::size_t close = text_.find(quote, at_ + 1);
    if (close == std::string_view::npos) {
      return error_in(at_, "a text whose closing quote is missing");
    }
    Token token = take(Token::Kind::text, close + 1 - at_);
    token.text = token.text.substr(1, token.text.size() - 2);
    return token;
  }

  Result<Token> symbol() {
    constexpr std::string_view kPairs[] = {"&&", "||", "==", "!=", "<=", ">="};
    const std::string_view two = text_.substr(at_, 2);
    for (const std::string_view pair : kPairs) {
      if (two == pair) return take(Token::Kind::symbol, 2);
    }
    if (std::string_view("<>!+-*/(),").find(text_[at_]) != std::string_view::npos) {
      return take(Token::Kind::symbol, 1);
    }
    if (text_[at_] == '=') return error_in(at_, "a single =; equality is ==");
    if (text_[at_] == '&') return error_in(at_, "a single &; `and` is &&");
    if (text_[at_] == '|') return error_in(at_, "a single |; `or` is ||");
    return error_in(
        at_, fmt::format("'{}' has no meaning here", config::printable(text_.substr(at_, 1))));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Error error_in(std::size_t at, std::string_view what) {
  return {ErrorCode::bad_data, fmt::format("at {}: {}", at + 1, what)};
}

Result<std::vector<Token>> tokens(std::string_view condition) {
  if (condition.size() > kMaxConditionBytes) {
    return error_in(kMaxConditionBytes,
                    fmt::format("a condition has at most {} bytes, this one {}; "
                                "make it two rules",
                                kMaxConditionBytes, condition.size()));
  }
  return Lexer(condition).all();
}

}  // namespace genscope::advice

#include "bench/result/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/printable.h"
#include "base/text.h"

namespace genscope::bench {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

// The length of the JSON number at the start of `text`; 0 if there is none.
std::size_t number_length(std::string_view text) {
  std::size_t i = 0;
  const auto at = [&](std::size_t k) { return k < text.size() ? text[k] : '\0'; };
  const auto digits = [&] {
    const std::size_t from = i;
    while (digit(at(i))) ++i;
    return i > from;
  };
  if (at(i) == '-') ++i;
  if (at(i) == '0') {
    ++i;
  } else if (!digits()) {
    return 0;
  }
  if (at(i) == '.') {
    ++i;
    if (!digits()) return 0;
  }
  if (at(i) == 'e' || at(i) == 'E') {
    ++i;
    if (at(i) == '+' || at(i) == '-') ++i;
    if (!digits()) return 0;
  }
  return i;
}

}  // namespace

void JsonReader::fail(std::string_view what) {
  if (error_) return;
  std::string where;
  for (const Step& step : path_) {
    if (step.name.data() == nullptr) {
      where += fmt::format("[{}]", step.index);
    } else {
      if (!where.empty()) where += '.';
      where += base::shorten(base::printable(step.name), 60);
    }
  }
  const std::size_t end = std::min(at_, text_.size());
  const auto line =
      1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  error_ = Error{ErrorCode::bad_data, fmt::format("{}: {}{}line {}: {}", file_, where,
                                                  where.empty() ? "" : ", ", line, what)};
}

void JsonReader::wrong(std::string_view wanted) {
  blanks();
  if (error_) return;
  if (at_ >= text_.size()) return fail("the file ends here; it was cut short");
  std::string_view got = "something that is not JSON";
  switch (text_[at_]) {
    case '{':
      got = "an object";
      break;
    case '[':
      got = "an array";
      break;
    case '"':
      got = "a string";
      break;
    case 't':
    case 'f':
      got = "true or false";
      break;
    case 'n':
      got = "null";
      break;
    default:
      if (text_[at_] == '-' || digit(text_[at_])) got = "a number";
  }
  fail(fmt::format("this should be {}, and is {}", wanted, got));
}

void JsonReader::too_many(std::string_view what, std::size_t limit) {
  fail(fmt::format("more than {} {}: too large to be a result", limit, what));
}

void JsonReader::blanks() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
}

char JsonReader::peek() {
  if (error_) return '\0';
  blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonReader::open(char bracket, std::string_view wanted) {
  if (peek() != bracket) {
    wrong(wanted);
    return false;
  }
  if (bracket == '{' && ++objects_ > kMaxObjects) {
    too_many("objects", kMaxObjects);
    return false;
  }
  if (++depth_ > kMaxDepth) {
    fail(fmt::format("nested deeper than {} levels", kMaxDepth));
    return false;
  }
  ++at_;
  first_ = true;
  return true;
}

// True: a member or element follows.
bool JsonReader::close_or_comma(char close, bool first) {
  const char c = peek();
  if (error_) return false;
  if (c == close) {
    ++at_;
    --depth_;
    return false;
  }
  if (++values_ > kMaxValues) {
    too_many("values", kMaxValues);
    return false;
  }
  if (first) return true;
  if (c != ',') {
    if (at_ >= text_.size()) {
      fail("the file ends here; it was cut short");
    } else {
      fail(fmt::format("a comma or {} should be here", close));
    }
    return false;
  }
  ++at_;
  return true;
}

bool JsonReader::next_member(std::string& key) {
  const bool first = std::exchange(first_, false);
  if (!close_or_comma('}', first)) return false;
  key.clear();
  if (peek() != '"') {
    wrong("a key in quotes");
    return false;
  }
  if (!quoted(key)) return false;
  if (peek() != ':') {
    fail("a colon should follow the key");
    return false;
  }
  ++at_;
  return true;
}

bool JsonReader::next_element(std::size_t) {
  const bool first = std::exchange(first_, false);
  return close_or_comma(']', first);
}

std::optional<std::uint32_t> JsonReader::four_hex() {
  if (text_.size() - at_ < 4) return std::nullopt;
  std::uint32_t code = 0;
  const char* const from = text_.data() + at_;
  const auto [end, error] = std::from_chars(from, from + 4, code, 16);
  if (error != std::errc() || end != from + 4) return std::nullopt;
  at_ += 4;
  return code;
}

// The cursor stands after the backslash.
bool JsonReader::escape(std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
  const char c = at_ < text_.size() ? text_[at_++] : '\0';
  if (c != 'u') {
    const std::size_t i = kNames.find(c);
    if (c != '\0' && i != std::string_view::npos) {
      out += kValues[i];
      return true;
    }
  } else if (auto code = four_hex()) {
    if (*code >= 0xD800 && *code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      const auto low = four_hex();
      if (low && *low >= 0xDC00 && *low < 0xE000) {
        base::append_utf8(out, 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00));
        return true;
      }
    } else if (*code < 0xD800 || *code >= 0xE000) {
      base::append_utf8(out, *code);
      return true;
    }
  }
  fail("this escape in a string is not JSON");
  return false;
}

// The cursor stands at the opening quote.
bool JsonReader::quoted(std::string& out) {
  const std::size_t from = at_++;
  out.clear();
  bool high = false;
  while (at_ < text_.size()) {
    std::size_t end = at_;  // of a run that is taken as it is
    for (; end < text_.size(); ++end) {
      const auto c = static_cast<unsigned char>(text_[end]);
      if (c == '"' || c == '\\' || c < 0x20) break;
      high |= c >= 0x80;
    }
    out.append(text_, at_, end - at_);
    at_ = end;
    if (at_ >= text_.size()) break;
    if (text_[at_] == '"') {
      ++at_;
      if (high && base::to_utf8(out) != out) {
        at_ = from;
        fail("this string is not UTF-8");
        return false;
      }
      return true;
    }
    if (text_[at_] != '\\') {
      fail("a control character within a string is not JSON");
      return false;
    }
    ++at_;
    if (!escape(out)) return false;
  }
  fail("the file ends within a string; it was cut short");
  return false;
}

void JsonReader::read(std::string& out) {
  if (peek() != '"') return wrong("a string");
  quoted(out);
}

void JsonReader::read(bool& out) {
  peek();
  const std::string_view rest = error_ ? std::string_view() : text_.substr(at_);
  for (const bool value : {true, false}) {
    const std::string_view word = value ? "true" : "false";
    if (!rest.starts_with(word)) continue;
    at_ += word.size();
    out = value;
    return;
  }
  wrong("true or false");
}

bool JsonReader::null() {
  if (peek() != 'n' || !text_.substr(at_).starts_with("null")) return false;
  at_ += 4;
  return true;
}

bool JsonReader::is_text() { return peek() == '"'; }
bool JsonReader::is_object() { return peek() == '{'; }

// Empty: it is none, and the error is set.
std::string_view JsonReader::number_text() {
  peek();
  if (error_) return {};
  const std::size_t length = number_length(text_.substr(at_));
  if (length == 0) {
    wrong("a number");
    return {};
  }
  const std::string_view found = text_.substr(at_, length);
  at_ += length;
  return found;
}

// "Infinity", "-Infinity", "NaN".
std::optional<double> JsonReader::special_number() {
  if (peek() != '"') return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string_view rest = text_.substr(at_);
  const auto take = [&](std::string_view word, double value) -> std::optional<double> {
    if (!rest.starts_with(word)) return std::nullopt;
    at_ += word.size();
    return value;
  };
  if (auto v = take("\"Infinity\"", kInfinity)) return v;
  if (auto v = take("\"-Infinity\"", -kInfinity)) return v;
  return take("\"NaN\"", std::numeric_limits<double>::quiet_NaN());
}

bool JsonReader::convert(std::string_view text, double& out) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail("this number is out of range");
    return false;
  }
  out = value;
  return true;
}

void JsonReader::read(double& out) {
  if (const auto special = special_number()) {
    out = *special;
    return;
  }
  const std::string_view text = number_text();
  if (!text.empty()) convert(text, out);
}

void JsonReader::thousandfold(double& out) {
  if (const auto special = special_number()) {
    out = *special;
    return;
  }
  const std::string_view text = number_text();
  if (text.empty()) return;
  const std::size_t e = text.find_first_of("eE");
  int exponent = 0;
  if (e != std::string_view::npos) {
    const std::size_t from = e + (text[e + 1] == '+' ? 2 : 1);
    const auto done = std::from_chars(text.data() + from, text.data() + text.size(), exponent);
    if (done.ec != std::errc() || std::abs(exponent) > 1000) {
      return fail("this number is out of range");
    }
  }
  convert(fmt::format("{}e{}", text.substr(0, e), exponent - 3), out);
}

void JsonReader::read(std::int64_t& out) {
  const std::string_view text = number_text();
  if (text.empty()) return;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return fail("this should be a whole number");
  if (error != std::errc()) return fail("this number is out of range");
  out = value;
}

void JsonReader::read(std::uint64_t& out) {
  const std::string_view text = number_text();
  if (text.empty()) return;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) {
    return fail("this should be a whole number that is not negative");
  }
  if (error != std::errc()) return fail("this number is out of range");
  out = value;
}

void JsonReader::read(std::uint32_t& out) {
  std::uint64_t value = out;
  read(value);
  if (value > std::numeric_limits<std::uint32_t>::max()) return fail("this number is out of range");
  out = static_cast<std::uint32_t>(value);
}

void JsonReader::read(int& out) {
  std::int64_t value = out;
  read(value);
  if (value > std::numeric_limits<int>::max() || value < std::numeric_limits<int>::min()) {
    return fail("this number is out of range");
  }
  out = static_cast<int>(value);
}

// Recurses to kMaxDepth at most.
void JsonReader::skip() {
  switch (peek()) {
    case '{':
      return members([this](std::string_view) { skip(); });
    case '[':
      return elements([this] { skip(); });
    case '"': {
      std::string ignored;
      quoted(ignored);
      return;
    }
    case 't':
    case 'f': {
      bool ignored = false;
      return read(ignored);
    }
    case 'n':
      if (!null()) wrong("a value");
      return;
    default:
      number_text();
  }
}

void JsonReader::finish() {
  peek();
  if (!error_ && at_ < text_.size()) fail("something follows the end of the result");
}

}  // namespace genscope::bench

#include "inspect/read/json_scan.h"

#include <array>
#include <cstring>

namespace genscope::inspect {
namespace {

// Bytes that end the plain part of a string: the quote, the backslash, control characters (the NUL
// at the end of the text is one).
constexpr std::array<bool, 256> kStops = [] {
  std::array<bool, 256> stops{};
  for (std::size_t c = 0; c < 0x20; ++c) stops[c] = true;
  stops['"'] = stops['\\'] = true;
  return stops;
}();

bool stops(char c) noexcept { return kStops[static_cast<unsigned char>(c)]; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

char* put_utf8(char* to, std::uint32_t c) noexcept {
  const auto put = [&](std::uint32_t byte) { *to++ = static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
  return to;
}

}  // namespace

bool JsonScan::fail(const char* reason) noexcept {
  if (reason_ != nullptr) return false;
  reason_ = reason;
  failed_at_ = at_;
  at_ = end_;
  return false;
}

void JsonScan::blanks() noexcept {
  while (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r') ++at_;
}

JsonScan::Kind JsonScan::peek() noexcept {
  blanks();
  switch (*at_) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::string;
    case 't':
    case 'f':
    case 'n':
    case 'N':
    case 'I':
      return Kind::literal;
    default:
      return *at_ == '-' || is_digit(*at_) ? Kind::number : Kind::none;
  }
}

bool JsonScan::open(char bracket, const char* reason) noexcept {
  blanks();
  if (failed() || *at_ != bracket) return fail(reason);
  ++at_;
  fresh_ = true;
  return true;
}

bool JsonScan::next(char closing) noexcept {
  if (failed()) return false;
  blanks();
  const bool fresh = fresh_;
  fresh_ = false;
  if (*at_ == closing) {
    ++at_;
    return false;
  }
  if (fresh) return true;
  if (*at_ != ',') return fail("a comma or a closing bracket is expected");
  ++at_;
  blanks();
  if (*at_ == closing) return fail("a value is expected after the comma");
  return true;
}

bool JsonScan::next_member(std::string_view& key) noexcept {
  if (!next('}')) return false;
  if (*at_ != '"') return fail("a key in quotes is expected");
  if (!string(key)) return false;
  blanks();
  if (*at_ != ':') return fail("a colon is expected after the key");
  ++at_;
  return true;
}

bool JsonScan::string(std::string_view& value) noexcept {
  blanks();
  if (failed() || *at_ != '"') return fail("a string is expected");
  char* const from = ++at_;
  while (!stops(*at_)) ++at_;
  if (*at_ != '"') return unescape(at_, value, from);
  value = std::string_view(from, static_cast<std::size_t>(at_ - from));
  ++at_;
  return true;
}

// The rest of a string behind its first escape; the decoded text is never longer than the source.
bool JsonScan::unescape(char* to, std::string_view& value, char* from) noexcept {
  for (;;) {
    if (*at_ == '"') {
      ++at_;
      value = std::string_view(from, static_cast<std::size_t>(to - from));
      return true;
    }
    if (*at_ != '\\') {
      return fail(at_ == end_ ? "a string has no end" : "a control character in a string");
    }
    ++at_;
    std::uint32_t c = 0;
    if (!code_point(c)) return false;
    to = put_utf8(to, c);
    const char* const plain = at_;
    while (!stops(*at_)) ++at_;
    const auto n = static_cast<std::size_t>(at_ - plain);
    std::memmove(to, plain, n);
    to += n;
  }
}

bool JsonScan::code_point(std::uint32_t& value) noexcept {
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (*at_ != 'u') {
    const std::size_t which = kLetters.find(*at_);
    if (which == std::string_view::npos) return fail("an escape that JSON does not have");
    value = static_cast<unsigned char>(kMeanings[which]);
    ++at_;
    return true;
  }
  ++at_;
  if (!hex4(value)) return false;
  if (value >= 0xDC00 && value < 0xE000) return fail("half of a surrogate pair");
  if (value < 0xD800 || value >= 0xE000) return true;
  std::uint32_t low = 0;
  if (*at_ != '\\' || at_[1] != 'u') return fail("half of a surrogate pair");
  at_ += 2;
  if (!hex4(low)) return false;
  if (low < 0xDC00 || low >= 0xE000) return fail("half of a surrogate pair");
  value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
  return true;
}

bool JsonScan::hex4(std::uint32_t& value) noexcept {
  value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = *at_;
    std::uint32_t digit = 0;
    if (is_digit(c)) {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) {
      digit = static_cast<std::uint32_t>((c | 0x20) - 'a' + 10);
    } else {
      return fail("four hexadecimal digits are expected");
    }
    value = value << 4 | digit;
  }
  return true;
}

bool JsonScan::natural(std::uint64_t& value) noexcept {
  blanks();
  if (*at_ == '-') return fail("a number is negative");
  if (failed() || !is_digit(*at_)) return fail("a whole number is expected");
  const char* const first = at_;
  std::uint64_t n = 0;
  while (is_digit(*at_)) {
    const auto digit = static_cast<std::uint64_t>(*at_ - '0');
    if (__builtin_mul_overflow(n, std::uint64_t{10}, &n) || __builtin_add_overflow(n, digit, &n)) {
      return fail("a number does not fit in 64 bits");
    }
    ++at_;
  }
  if (*first == '0' && at_ - first > 1) return fail("a number starts with 0");
  if (*at_ == '.' || *at_ == 'e' || *at_ == 'E') return fail("a number is not a whole one");
  value = n;
  return true;
}

bool JsonScan::number(std::string_view& value) noexcept {
  const char* const from = at_;
  const auto digits = [&] {
    const char* const first = at_;
    while (is_digit(*at_)) ++at_;
    return at_ > first;
  };
  if (*at_ == '-') ++at_;
  if (*at_ == 'I') return word(from, value);
  const char* const whole = at_;
  if (!digits()) return fail("a number is expected");
  if (*whole == '0' && at_ - whole > 1) return fail("a number starts with 0");
  if (*at_ == '.') {
    ++at_;
    if (!digits()) return fail("digits are expected after the point");
  }
  if (*at_ == 'e' || *at_ == 'E') {
    ++at_;
    if (*at_ == '+' || *at_ == '-') ++at_;
    if (!digits()) return fail("digits are expected in the exponent");
  }
  value = std::string_view(from, static_cast<std::size_t>(at_ - from));
  return true;
}

bool JsonScan::scalar(std::string_view& value) noexcept {
  const Kind kind = peek();
  if (failed()) return false;
  if (kind == Kind::string) return string(value);
  if (kind == Kind::number) return number(value);
  return word(at_, value);
}

// One of the words of JSON at the cursor; the value begins at `from`, where a sign may be.
bool JsonScan::word(const char* from, std::string_view& value) noexcept {
  const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
  for (const std::string_view known : {"true", "false", "null", "NaN", "Infinity"}) {
    if (!rest.starts_with(known)) continue;
    at_ += known.size();
    value = std::string_view(from, static_cast<std::size_t>(at_ - from));
    return true;
  }
  return fail("a value is expected");
}

bool JsonScan::skip(int depth, std::uint64_t* elements) noexcept {
  const Kind kind = peek();
  std::string_view ignored;
  if (kind != Kind::object && kind != Kind::array) return scalar(ignored);
  if (depth > kMaxDepth) return fail("values are nested too deeply");
  std::uint64_t count = 0;
  const bool object = kind == Kind::object;
  if (!(object ? open_object() : open_array())) return false;
  while (object ? next_member(ignored) : next_element()) {
    ++count;
    if (!skip(depth + 1, nullptr)) return false;
  }
  if (elements != nullptr) *elements = count;
  return !failed();
}

bool JsonScan::finish() noexcept {
  blanks();
  if (!failed() && at_ != end_) fail("something follows the end of the document");
  return !failed();
}

}  // namespace genscope::inspect

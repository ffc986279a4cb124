#include "store/import/json_cursor.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/text.h"

namespace genscope::store {
namespace {

// Of a value's inside: what says nothing about where it ends.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (int c = 0; c < 256; ++c) {
    const char byte = static_cast<char>(c);
    plain[static_cast<std::size_t>(c)] =
        scan::is_scalar(byte) || scan::is_blank(byte) || byte == ',' || byte == ':';
  }
  return plain;
}();

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hexadecimal digits at `p`, or -1.
int hex4(const char* p) {
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_digit(p[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

}  // namespace

Scan JsonCursor::unexpected(char wanted) {
  return fail(wanted == ':' ? "a key without a colon" : "something else than a key");
}

Scan JsonCursor::peek_rare(char c, JsonType& type) {
  switch (c) {
    case '{':
      type = JsonType::object;
      return Scan::ok;
    case '[':
      type = JsonType::array;
      return Scan::ok;
    case 't':
    case 'f':
      type = JsonType::boolean;
      return Scan::ok;
    case 'n':
      // Both null and what C prints for not-a-number.
      if (end_ - at_ < 2) return Scan::more;
      type = at_[1] == 'a' ? JsonType::number : JsonType::null;
      return Scan::ok;
    default:
      if (!scan::is_scalar(c)) return fail("a value is missing");
      type = JsonType::number;
      return Scan::ok;
  }
}

Scan JsonCursor::rewrite(const char* p, std::string_view& out, StringPool& pool) {
  std::string& text = pool.next();
  const char* from = at_ + 1;
  bool repaired = false;
  for (;;) {
    text.append(from, p);
    if (p == end_) return Scan::more;
    if (*p == '"') break;
    if (*p == '\\') {
      const std::uint64_t before = repaired_;
      if (const Scan r = escape(p, text); r != Scan::ok) {
        repaired_ = before;
        return r;
      }
    } else {
      text += ' ';
      repaired = true;
      ++p;
    }
    from = p;
    p = scan::Best::text_end(p, end_);
  }
  repaired_ += repaired ? 1 : 0;
  out = text;
  at_ = p + 1;
  return Scan::ok;
}

// `p` stands at the backslash, afterwards behind the escape.
Scan JsonCursor::escape(const char*& p, std::string& out) {
  if (end_ - p < 2) return Scan::more;
  const char c = p[1];
  constexpr std::string_view kLetters = "bfnrt";
  constexpr std::string_view kMeanings = "\b\f\n\r\t";
  if (const std::size_t i = kLetters.find(c); i != std::string_view::npos) {
    out += kMeanings[i];
    p += 2;
    return Scan::ok;
  }
  if (c != 'u') {
    out += c;
    p += 2;
    return Scan::ok;
  }
  if (end_ - p < 6) return Scan::more;
  constexpr std::uint32_t kReplacement = 0xFFFD;
  const int unit = hex4(p + 2);
  if (unit < 0) {
    base::append_utf8(out, kReplacement);
    repaired_++;
    p += 2;
    return Scan::ok;
  }
  auto code = static_cast<std::uint32_t>(unit);
  p += 6;
  if (code >= 0xD800 && code < 0xDC00) {
    if (end_ - p < 6 && (p == end_ || *p == '\\')) return Scan::more;
    const int low = *p == '\\' && p[1] == 'u' ? hex4(p + 2) : -1;
    if (low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (static_cast<std::uint32_t>(low) - 0xDC00);
      p += 6;
    }
  }
  base::append_utf8(out, code >= 0xD800 && code < 0xE000 ? kReplacement : code);
  return Scan::ok;
}

Scan JsonCursor::skip_string() {
  const char* p = at_ + 1;
  for (;;) {
    p = scan::Best::text_end(p, end_);
    if (p == end_) return Scan::more;
    if (*p == '"') break;
    if (*p == '\\' && ++p == end_) return Scan::more;
    ++p;
  }
  at_ = p + 1;
  return Scan::ok;
}

Scan JsonCursor::skip(std::string_view& out) {
  JsonType type{};
  if (const Scan r = peek(type); r != Scan::ok) return r;
  const char* const first = at_;
  std::array<char, kMaxDepth> closers{};
  std::size_t depth = 0;
  do {
    if (depth > 0) {
      while (at_ < end_ && kPlain[static_cast<unsigned char>(*at_)]) ++at_;
    }
    char c = 0;
    if (const Scan r = next_byte(c); r != Scan::ok) return r;
    if (c == '"') {
      if (const Scan r = skip_string(); r != Scan::ok) return r;
    } else if (c == '{' || c == '[') {
      if (depth == kMaxDepth) return fail("nested deeper than 512");
      closers[depth++] = c == '{' ? '}' : ']';
      ++at_;
    } else if (c == '}' || c == ']') {
      if (depth == 0 || closers[depth - 1] != c) return fail("brackets that do not match");
      --depth;
      ++at_;
    } else {
      std::string_view ignored;
      if (const Scan r = scalar(ignored); r != Scan::ok) return r;
    }
  } while (depth > 0);
  out = {first, static_cast<std::size_t>(at_ - first)};
  return Scan::ok;
}

bool parse_microseconds(std::string_view text, std::int64_t& ns, bool& has_fraction) {
  constexpr std::uint64_t kMaxMicroseconds = std::uint64_t{1} << 52;  // 142 years
  const char* p = text.data();
  const char* const end = p + text.size();
  const bool negative = p < end && *p == '-';
  if (negative || (p < end && *p == '+')) ++p;
  std::uint64_t whole = 0;
  const char* const digits = p;
  for (; p < end && *p >= '0' && *p <= '9'; ++p) {
    whole = whole * 10 + static_cast<std::uint64_t>(*p - '0');
    if (whole > kMaxMicroseconds) return false;
  }
  const bool some = p > digits;
  std::uint64_t fraction = 0;
  if (p < end && *p == '.') {
    const char* const dot = p++;
    std::uint64_t scale = 1000;
    for (; p < end && *p >= '0' && *p <= '9'; ++p) {
      if (scale > 1) {
        scale /= 10;
        fraction += scale * static_cast<std::uint64_t>(*p - '0');
      } else if (scale == 1) {
        fraction += *p >= '5' ? 1 : 0;
        scale = 0;
      }
    }
    if (!some && p == dot + 1) return false;
    has_fraction |= fraction != 0;
  } else if (!some) {
    return false;
  }
  if (p == end) {
    const auto value = static_cast<std::int64_t>(whole * 1000 + fraction);
    ns = negative ? -value : value;
    return true;
  }
  double value = 0;  // with an exponent, or no number at all
  const char* const from = text.starts_with('+') ? text.data() + 1 : text.data();
  const auto [stop, error] = std::from_chars(from, end, value);
  if (error != std::errc() || stop != end) return false;
  if (!(std::fabs(value) <= static_cast<double>(kMaxMicroseconds))) return false;
  ns = std::llround(value * 1000);
  has_fraction |= ns % 1000 != 0;
  return true;
}

}  // namespace genscope::store

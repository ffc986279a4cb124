// Reads JSON from a block of bytes that may end anywhere: within a value the answer is `more`, and
// the caller comes back with a longer block from the same start.
//
// Lenient where writers of traces err and nothing is lost by it: raw control characters in strings
// become blanks, unknown escapes the character itself, lone surrogates U+FFFD, NaN and Infinity are
// numbers. Nothing recurses, so that no nesting can exhaust the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "store/import/scan.h"

namespace genscope::store {

enum class Scan : std::uint8_t {
  ok,
  more,  // the block ended within the value
  bad,   // not JSON; JsonCursor::why tells
};

enum class JsonType : std::uint8_t { object, array, string, number, boolean, null };

// Memory of strings that had to be rewritten; views into it live until reset().
class StringPool {
 public:
  std::string& next() {
    if (used_ == pool_.size()) pool_.emplace_back();
    pool_[used_].clear();
    return pool_[used_++];
  }
  void reset() { used_ = 0; }

 private:
  std::deque<std::string> pool_;
  std::size_t used_ = 0;
};

class JsonCursor {
 public:
  static constexpr std::size_t kMaxDepth = 512;

  JsonCursor(const char* at, const char* end) : at_(at), end_(end) {}

  const char* at() const { return at_; }
  const char* why() const { return why_; }
  std::uint64_t repaired() const { return repaired_; }  // strings that were not quite JSON

  // The type of the next value, blanks skipped; the cursor stands at its first byte.
  [[gnu::always_inline]] Scan peek(JsonType& type) {
    char c = 0;
    if (const Scan r = next_byte(c); r != Scan::ok) return r;
    if (c == '"') {
      type = JsonType::string;
    } else if (c >= '0' && c <= '9') {
      type = JsonType::number;
    } else {
      return peek_rare(c, type);
    }
    return Scan::ok;
  }
  // The next byte that is no blank, not taken.
  [[gnu::always_inline]] Scan next_byte(char& c) {
    if (end_ - at_ > 1 && *at_ == ' ') ++at_;  // mostly one, behind a colon or a comma
    if (at_ == end_ || static_cast<unsigned char>(*at_) <= ' ') {
      at_ = scan::Best::blanks_end(at_, end_);
      if (at_ == end_) return Scan::more;
    }
    c = *at_;
    return Scan::ok;
  }
  void take() { ++at_; }
  // Takes the byte `c` after blanks; anything else is bad.
  [[gnu::always_inline]] Scan expect(char wanted) {
    char c = 0;
    if (const Scan r = next_byte(c); r != Scan::ok) return r;
    if (c != wanted) [[unlikely]]
      return unexpected(wanted);
    ++at_;
    return Scan::ok;
  }

  // The cursor stands at the opening quote. `out` points into the block, or into the pool.
  [[gnu::always_inline]] Scan string(std::string_view& out, StringPool& pool) {
    const char* const first = at_ + 1;
    const char* const p = scan::Best::text_end(first, end_);
    if (p == end_) return Scan::more;
    if (*p != '"') [[unlikely]]
      return rewrite(p, out, pool);
    out = {first, static_cast<std::size_t>(p - first)};
    at_ = p + 1;
    return Scan::ok;
  }
  // A number, true, false or null as it stands.
  [[gnu::always_inline]] Scan scalar(std::string_view& out) {
    const char* const p = scan::Best::scalar_end(at_, end_);
    if (p == end_) return Scan::more;
    if (p == at_) return fail("a value is missing");
    out = {at_, static_cast<std::size_t>(p - at_)};
    at_ = p;
    return Scan::ok;
  }
  // Any value; `out` is its bytes.
  Scan skip(std::string_view& out);

 private:
  Scan fail(const char* why) {
    why_ = why;
    return Scan::bad;
  }
  Scan unexpected(char wanted);
  Scan peek_rare(char c, JsonType& type);
  Scan rewrite(const char* from, std::string_view& out, StringPool& pool);
  Scan escape(const char*& p, std::string& out);
  Scan skip_string();

  const char* at_;
  const char* end_;
  const char* why_ = "";
  std::uint64_t repaired_ = 0;
};

// A JSON number, or a string that holds one, of microseconds to nanoseconds: exact for whatever has
// up to three decimals, also beyond 2^53; more are rounded. False if it is no number or too large.
bool parse_microseconds(std::string_view text, std::int64_t& ns, bool& has_fraction);

}  // namespace genscope::store

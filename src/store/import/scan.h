// Where a run of bytes of JSON ends: of a string, of blanks, of a number or a word.
//
// Twice the same: Bytes looks at one byte after another, Blocks at 16 at once. Blocks takes SSE2,
// which every x86-64 has, so nothing is chosen at run time; on other CPUs Best is Bytes. Both give
// the same answer for all bytes (scan_test.cc, tests/fuzz/import_fuzz.cc), and neither reads at or
// beyond `end`.
#pragma once

#include <cstddef>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace genscope::store::scan {

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// What numbers, true, false, null, NaN and Infinity are made of.
constexpr bool is_scalar(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '-' || c == '+';
}

// What ends a string, or must be rewritten in it.
constexpr bool is_special(char c) noexcept {
  return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

struct Bytes {
  // The first quote, backslash or control character, or `end`; and so on.
  static const char* text_end(const char* p, const char* end) noexcept {
    while (p != end && !is_special(*p)) ++p;
    return p;
  }
  static const char* blanks_end(const char* p, const char* end) noexcept {
    while (p != end && is_blank(*p)) ++p;
    return p;
  }
  static const char* scalar_end(const char* p, const char* end) noexcept {
    while (p != end && is_scalar(*p)) ++p;
    return p;
  }
};

#if defined(__SSE2__)
class Blocks {
 public:
  static const char* text_end(const char* p, const char* end) noexcept {
    for (; end - p >= kSize; p += kSize) {
      const __m128i v = load(p);
      const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v);
      const __m128i found = _mm_or_si128(control, _mm_or_si128(is(v, '"'), is(v, '\\')));
      if (const int mask = _mm_movemask_epi8(found); mask != 0)
        return p + __builtin_ctz(bits(mask));
    }
    return Bytes::text_end(p, end);
  }
  static const char* blanks_end(const char* p, const char* end) noexcept {
    for (; end - p >= kSize; p += kSize) {
      const __m128i v = load(p);
      const __m128i blank = _mm_or_si128(_mm_or_si128(is(v, ' '), is(v, '\n')),
                                         _mm_or_si128(is(v, '\r'), is(v, '\t')));
      if (const int mask = _mm_movemask_epi8(blank); mask != kAll) {
        return p + __builtin_ctz(~bits(mask));
      }
    }
    return Bytes::blanks_end(p, end);
  }
  static const char* scalar_end(const char* p, const char* end) noexcept {
    for (; end - p >= kSize; p += kSize) {
      const __m128i v = load(p);
      const __m128i letter = within(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 'z');
      const __m128i sign = _mm_or_si128(_mm_or_si128(is(v, '.'), is(v, '-')), is(v, '+'));
      const __m128i scalar = _mm_or_si128(_mm_or_si128(letter, within(v, '0', '9')), sign);
      if (const int mask = _mm_movemask_epi8(scalar); mask != kAll) {
        return p + __builtin_ctz(~bits(mask));
      }
    }
    return Bytes::scalar_end(p, end);
  }

 private:
  static constexpr std::ptrdiff_t kSize = 16;
  static constexpr int kAll = 0xFFFF;

  static unsigned bits(int mask) noexcept { return static_cast<unsigned>(mask); }
  static __m128i load(const char* p) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static __m128i is(__m128i v, char c) noexcept { return _mm_cmpeq_epi8(v, _mm_set1_epi8(c)); }
  static __m128i within(__m128i v, char from, char to) noexcept {
    const __m128i above = _mm_sub_epi8(v, _mm_set1_epi8(from));
    const __m128i length = _mm_set1_epi8(static_cast<char>(to - from));
    return _mm_cmpeq_epi8(_mm_min_epu8(above, length), above);
  }
};
using Best = Blocks;
#else
using Best = Bytes;
#endif

}  // namespace genscope::store::scan

// What marshal.dump() wrote, by its type letters (Python/marshal.c): each value is a letter, whose
// highest bit asks to remember it for a later 'r', and then its bytes.
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "store/import/python_values.h"

namespace genscope::store {
namespace {

using Kind = PythonValues::Kind;

class MarshalWalk {
 public:
  explicit MarshalWalk(std::string_view bytes) : bytes_(bytes), values_(bytes) {}

  Result<PythonValues> read() {
    values_.root = value(0);
    if (values_.root == kNull && problem_.empty()) problem_ = "it ends without a value";
    if (!problem_.empty()) {
      return Error{ErrorCode::bad_data, fmt::format("{} (at byte {})", problem_, at_)};
    }
    return std::move(values_);
  }

 private:
  static constexpr std::uint32_t kNull = PythonValues::kMissing;  // TYPE_NULL, or a problem
  static constexpr int kDeepest = 100;
  static constexpr unsigned char kRemember = 0x80;

  std::uint32_t fail(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
    return kNull;
  }
  std::uint32_t cut_off() { return fail("it is cut off"); }

  template <class T>
  bool take(T& value) {
    if (bytes_.size() - at_ < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  template <class Size>
  std::uint32_t text(bool is_text) {
    Size size = 0;
    if (!take(size) || size > bytes_.size() - at_) return cut_off();
    const std::size_t from = at_;
    at_ += size;
    return is_text ? values_.text(from, size) : values_.other();
  }

  std::uint32_t value(int depth) {
    unsigned char letter = 0;
    if (!take(letter)) return cut_off();
    if (depth > kDeepest) return fail("its values are nested too deeply");
    const bool remember = (letter & kRemember) != 0;
    letter &= static_cast<unsigned char>(~kRemember);
    // Its place comes before those of what it holds.
    const std::size_t place = kept_.size();
    if (remember) kept_.push_back(kNull);
    const std::uint32_t made = value_of(letter, depth);
    if (made == kNull && letter != '0' && problem_.empty()) {
      return fail(fmt::format("it holds more than {} values", PythonValues::kMostValues));
    }
    if (remember) kept_[place] = made;
    return made;
  }

  std::uint32_t value_of(unsigned char letter, int depth) {
    switch (letter) {
      case '0':
        return kNull;
      case 'N':
        return values_.none();
      case 'T':
      case 'F':
        return values_.boolean(letter == 'T');
      case 'i': {
        std::int32_t number = 0;
        return take(number) ? values_.integer(number) : cut_off();
      }
      case 'l':
        return long_integer();
      case 'g': {
        double number = 0;
        return take(number) ? values_.real(number) : cut_off();
      }
      case 'f':
        return written_real();
      case 'z':
      case 'Z':
        return text<std::uint8_t>(true);
      case 'a':
      case 'A':
      case 'u':
      case 't':
        return text<std::uint32_t>(true);
      case 's':
        return text<std::uint32_t>(false);
      case ')': {
        std::uint8_t count = 0;
        return take(count) ? sequence(Kind::tuple, count, depth) : cut_off();
      }
      case '(':
      case '[': {
        std::uint32_t count = 0;
        if (!take(count) || count > bytes_.size() - at_) return cut_off();
        return sequence(letter == '(' ? Kind::tuple : Kind::list, count, depth);
      }
      case '{':
        return dict(depth);
      case 'r': {
        std::uint32_t place = 0;
        if (!take(place)) return cut_off();
        if (place >= kept_.size() || kept_[place] == kNull) {
          return fail("it refers to a value that is not there");
        }
        return kept_[place];
      }
      case 'c':
        return fail("it holds code, as a .pyc does, and no profile");
      default:
        return fail(fmt::format("byte {:#04x} is no value of a profile", letter));
    }
  }

  std::uint32_t sequence(Kind kind, std::size_t count, int depth) {
    const std::uint32_t made = values_.container(kind);
    for (std::size_t i = 0; made != kNull && i < count; ++i) {
      const std::uint32_t item = value(depth + 1);
      if (!problem_.empty()) return kNull;
      if (item == kNull) return fail("a value is missing");
      values_.items(made).push_back(item);
    }
    return made;
  }

  std::uint32_t dict(int depth) {
    const std::uint32_t made = values_.container(Kind::dict);
    while (made != kNull) {
      const std::uint32_t key = value(depth + 1);
      if (!problem_.empty()) return kNull;
      if (key == kNull) break;
      const std::uint32_t item = value(depth + 1);
      if (!problem_.empty()) return kNull;
      if (item == kNull) return fail("a key of a dict has no value");
      values_.items(made).push_back(key);
      values_.items(made).push_back(item);
    }
    return made;
  }

  // Digits of 15 bits, the lowest first; the sign is that of their number.
  std::uint32_t long_integer() {
    constexpr int kDigitBits = 15, kMostDigits = 4;  // 60 bits: what is larger counts nothing here
    std::int32_t count = 0;
    if (!take(count)) return cut_off();
    const std::int64_t digits = count < 0 ? -std::int64_t{count} : count;
    std::int64_t number = 0;
    for (std::int64_t i = 0; i < digits; ++i) {
      std::uint16_t digit = 0;
      if (!take(digit)) return cut_off();
      if (i < kMostDigits) number |= static_cast<std::int64_t>(digit & 0x7FFF) << (kDigitBits * i);
    }
    if (digits > kMostDigits) return values_.other();
    return values_.integer(count < 0 ? -number : number);
  }

  std::uint32_t written_real() {  // before Python 2.5's version 2 of the format
    std::uint8_t size = 0;
    if (!take(size) || size > bytes_.size() - at_) return cut_off();
    double number = 0;
    const auto read = std::from_chars(bytes_.data() + at_, bytes_.data() + at_ + size, number);
    at_ += size;
    return read.ec == std::errc() ? values_.real(number) : values_.other();
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  PythonValues values_;
  std::vector<std::uint32_t> kept_;
  std::string problem_;
};

}  // namespace

Result<PythonValues> read_marshal(std::string_view bytes) { return MarshalWalk(bytes).read(); }

}  // namespace genscope::store

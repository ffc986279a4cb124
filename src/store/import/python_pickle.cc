// A pickle by its opcodes. Only those that make lists, dicts, tuples, texts and numbers are known
// here: a pickle that needs another one asks to run something, and is refused with its name.
#include <cstring>

#include <fmt/format.h>

#include "store/import/python_values.h"

namespace genscope::store {
namespace {

using Kind = PythonValues::Kind;

class PickleWalk {
 public:
  explicit PickleWalk(std::string_view bytes) : bytes_(bytes), values_(bytes) {}

  Result<PythonValues> read() {
    while (!done_) {
      const std::size_t start = at_;
      if (!step() || !problem_.empty()) {
        if (problem_.empty()) problem_ = "it is cut off";
        return Error{ErrorCode::bad_data, fmt::format("{} (at byte {})", problem_, start)};
      }
    }
    return std::move(values_);
  }

 private:
  bool fail(std::string why) {
    problem_ = std::move(why);
    return false;
  }

  template <class T>
  bool take(T& value) {
    if (bytes_.size() - at_ < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  template <class Size>
  bool sized(std::size_t& from, std::size_t& size) {
    Size n = 0;
    if (!take(n) || n > bytes_.size() - at_ || n > 0xFFFFFFFF) return false;
    from = at_;
    size = static_cast<std::size_t>(n);
    at_ += size;
    return true;
  }

  bool push(std::uint32_t value) {
    if (value == PythonValues::kMissing) {
      return fail(fmt::format("it holds more than {} values", PythonValues::kMostValues));
    }
    stack_.push_back(value);
    return true;
  }
  template <class Size>
  bool push_text() {
    std::size_t from = 0, size = 0;
    return sized<Size>(from, size) && push(values_.text(from, size));
  }
  template <class Size>
  bool push_bytes() {
    std::size_t from = 0, size = 0;
    return sized<Size>(from, size) && push(values_.other());
  }
  template <class Int>
  bool push_integer() {
    Int value = 0;
    return take(value) && push(values_.integer(value));
  }
  template <class Size>
  bool push_long() {  // two's complement, little-endian
    std::size_t from = 0, size = 0;
    if (!sized<Size>(from, size)) return false;
    if (size > sizeof(std::int64_t)) return push(values_.other());
    std::uint64_t value = 0;
    if (size > 0) std::memcpy(&value, bytes_.data() + from, size);
    if (size > 0 && size < 8 && (static_cast<unsigned char>(bytes_[from + size - 1]) & 0x80) != 0) {
      value |= ~std::uint64_t{0} << (8 * size);
    }
    return push(values_.integer(static_cast<std::int64_t>(value)));
  }
  bool push_real() {  // big-endian
    std::uint64_t bits = 0;
    return take(bits) && push(values_.real(__builtin_bit_cast(double, __builtin_bswap64(bits))));
  }

  // What stands above the last mark, into a container; of `kind` anew, or onto the one below it.
  bool pop_mark(std::size_t& from) {
    if (marks_.empty() || marks_.back() > stack_.size()) return fail("an opcode lacks its mark");
    from = marks_.back();
    marks_.pop_back();
    return true;
  }
  bool make(Kind kind, std::size_t from) {
    if (from > stack_.size()) return fail("an opcode lacks its values");
    const std::uint32_t made = values_.container(kind);
    if (made == PythonValues::kMissing) return push(made);
    values_.items(made).assign(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    return push(made);
  }
  bool make_last(std::size_t count) {
    if (count > stack_.size()) return fail("an opcode lacks its values");
    return make(Kind::tuple, stack_.size() - count);
  }
  bool append(std::size_t from, Kind kind) {
    if (from == 0 || from > stack_.size() || values_.kind(stack_[from - 1]) != kind ||
        (kind == Kind::dict && (stack_.size() - from) % 2 != 0)) {
      return fail(fmt::format("an opcode adds to what is not {}", name(kind)));
    }
    std::vector<std::uint32_t>& items = values_.items(stack_[from - 1]);
    items.insert(items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    return true;
  }
  bool append_last(std::size_t count, Kind kind) {
    if (stack_.size() < count) return fail("an opcode lacks its values");
    return append(stack_.size() - count, kind);
  }

  bool put(std::uint64_t index) {
    if (stack_.empty()) return fail("an opcode keeps no value");
    if (index > bytes_.size()) return fail("a number of a kept value is too large");
    if (index >= memo_.size()) memo_.resize(index + 1, PythonValues::kMissing);
    memo_[index] = stack_.back();
    kept_++;
    return true;
  }
  bool get(std::uint64_t index) {
    if (index >= memo_.size() || memo_[index] == PythonValues::kMissing) {
      return fail("an opcode asks for a value that was not kept");
    }
    stack_.push_back(memo_[index]);
    return true;
  }
  template <class Number>
  bool memo(bool puts) {
    Number index = 0;
    return take(index) && (puts ? put(index) : get(index));
  }

  bool refuse(std::string_view what) {
    return fail(fmt::format("it asks to run {}, which is never done", what));
  }
  bool refuse_global() {  // GLOBAL: two lines
    const std::size_t first = bytes_.find('\n', at_);
    const std::size_t second = first == bytes_.npos ? first : bytes_.find('\n', first + 1);
    if (second == bytes_.npos) return false;
    return refuse(printable(bytes_.substr(at_, first - at_)) + "." +
                  printable(bytes_.substr(first + 1, second - first - 1)));
  }
  bool refuse_stack_global() {
    if (stack_.size() < 2) return fail("an opcode lacks its values");
    return refuse(printable(values_.text(stack_[stack_.size() - 2])) + "." +
                  printable(values_.text(stack_.back())));
  }
  static std::string printable(std::string_view text) {
    std::string out(text.substr(0, 80));
    for (char& c : out) {
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
    }
    return out;
  }

  bool step();

  std::string_view bytes_;
  std::size_t at_ = 0;
  PythonValues values_;
  std::vector<std::uint32_t> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::uint64_t kept_ = 0;
  bool done_ = false;
  std::string problem_;
};

// The letters are pickle's own, as Python's Lib/pickle.py names them.
bool PickleWalk::step() {
  unsigned char op = 0;
  std::size_t from = 0;
  if (!take(op)) return false;
  switch (op) {
    case 0x80: {  // PROTO
      constexpr unsigned char kNewest = 5;
      return take(op) && (op <= kNewest || fail(fmt::format("protocol {} is not known", op)));
    }
    case 0x95: {  // FRAME
      std::uint64_t ignored = 0;
      return take(ignored);
    }
    case '.':  // STOP
      if (stack_.empty()) return fail("it ends without a value");
      values_.root = stack_.back();
      done_ = true;
      return true;
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case 'N':
      return push(values_.none());
    case 0x88:
    case 0x89:
      return push(values_.boolean(op == 0x88));
    case 'K':
      return push_integer<std::uint8_t>();
    case 'M':
      return push_integer<std::uint16_t>();
    case 'J':
      return push_integer<std::int32_t>();
    case 0x8a:
      return push_long<std::uint8_t>();
    case 0x8b:
      return push_long<std::uint32_t>();
    case 'G':
      return push_real();
    case 0x8c:
      return push_text<std::uint8_t>();
    case 'X':
      return push_text<std::uint32_t>();
    case 0x8d:
      return push_text<std::uint64_t>();
    case 'C':
      return push_bytes<std::uint8_t>();
    case 'B':
      return push_bytes<std::uint32_t>();
    case 0x8e:
    case 0x96:
      return push_bytes<std::uint64_t>();
    case ']':
      return make(Kind::list, stack_.size());
    case '}':
      return make(Kind::dict, stack_.size());
    case ')':
      return make(Kind::tuple, stack_.size());
    case 'l':
      return pop_mark(from) && make(Kind::list, from);
    case 't':
      return pop_mark(from) && make(Kind::tuple, from);
    case 'd':
      if (!pop_mark(from)) return false;
      if ((stack_.size() - from) % 2 != 0) return fail("a dict with a key alone");
      return make(Kind::dict, from);
    case 0x85:
    case 0x86:
    case 0x87:
      return make_last(op - 0x84U);
    case 'a':
      return append_last(1, Kind::list);
    case 's':
      return append_last(2, Kind::dict);
    case 'e':
      return pop_mark(from) && append(from, Kind::list);
    case 'u':
      return pop_mark(from) && append(from, Kind::dict);
    case 'h':
      return memo<std::uint8_t>(false);
    case 'j':
      return memo<std::uint32_t>(false);
    case 'q':
      return memo<std::uint8_t>(true);
    case 'r':
      return memo<std::uint32_t>(true);
    case 0x94:
      return put(kept_);
    case 'c':
      return refuse_global();
    case 0x93:
      return refuse_stack_global();
    case 'R':
    case 'b':
    case 'i':
    case 'o':
    case 0x81:
    case 0x92:
    case 'P':
    case 'Q':
    case 0x82:
    case 0x83:
    case 0x84:
      return refuse("a function or to build an object");
    default:
      return fail(
          fmt::format("byte {:#04x} is no opcode that lists, dicts, texts and numbers need", op));
  }
}

}  // namespace

Result<PythonValues> read_pickle(std::string_view bytes) { return PickleWalk(bytes).read(); }

}  // namespace genscope::store

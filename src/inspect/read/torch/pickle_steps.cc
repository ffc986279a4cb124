// What each opcode of a pickle does to the walk.
#include <charconv>
#include <cstring>

#include "inspect/read/torch/opcodes.h"
#include "inspect/read/torch/pickle.h"

namespace genscope::inspect {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

Value integer(std::int64_t value) { return {static_cast<std::uint64_t>(value), 0, Kind::integer}; }

}  // namespace

template <class T>
bool Pickle::take(T& value) {
  if (bytes_.size() - at_ < sizeof value) {
    ran_out_ = true;
    return fail("the pickle ends in the middle");
  }
  std::memcpy(&value, bytes_.data() + at_, sizeof value);
  at_ += sizeof value;
  return true;
}

bool Pickle::take_line(std::string_view& line) {
  const std::size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) {
    ran_out_ = true;
    return fail("the pickle ends in the middle of a line");
  }
  line = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return true;
}

bool Pickle::push_span(std::uint64_t size) {
  if (size > bytes_.size() - at_) {
    ran_out_ = true;
    return fail("a string of " + std::to_string(size) + " bytes goes past the end");
  }
  at_ += size;
  return push({});
}

bool Pickle::push_text(std::uint64_t size) {
  const std::uint64_t from = at_;
  if (size > 0xFFFFFFFF || !push_span(size)) return fail("a string that is too long");
  stack_.back() = {from, static_cast<std::uint32_t>(size), Kind::text};
  return true;
}

// Two's complement, little-endian. Beyond 64 bits it is no size of anything.
bool Pickle::push_long(std::uint64_t size) {
  const std::size_t from = at_;
  if (!push_span(size)) return false;
  if (size > 8) return true;
  std::uint64_t value = 0;
  if (size > 0) {
    std::memcpy(&value, bytes_.data() + from, size);
    const bool negative = (static_cast<unsigned char>(bytes_[from + size - 1]) & 0x80) != 0;
    if (negative && size < 8) value |= ~std::uint64_t{0} << (8 * size);
  }
  stack_.back() = integer(static_cast<std::int64_t>(value));
  return true;
}

bool Pickle::walk(std::size_t from) {
  at_ = from;
  for (;;) {
    const std::size_t start = at_;
    std::uint8_t op = 0;
    if (take(op) && op == kStop) {
      if (!pop(root_)) return false;
      stack_.clear();
      marks_.clear();
      memo_.clear();
      memo_count_ = 0;
      return true;
    }
    if (!reason_.empty() || !step(op)) {
      at_ = start;
      return false;
    }
  }
}

bool Pickle::step(std::uint8_t op) {
  Value value;
  switch (op) {
    case kProto:
      return take(op);
    case kFrame: {
      std::uint64_t ignored = 0;
      return take(ignored);
    }
    case kMark:
      if (used() >= budget_) return fail("the pickle sets more marks than its length explains");
      marks_.push_back(stack_.size());
      return true;
    case kPop:
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
        return true;
      }
      return pop(value);
    case kDup:
      return !stack_.empty() ? push(stack_.back()) : fail("the pickle doubles nothing");
    case kFloat:
    case kInt:
    case kBinInt:
    case kBinInt1:
    case kBinInt2:
    case kLong:
    case kLong1:
    case kLong4:
    case kBinFloat:
    case kNone:
    case kNewTrue:
    case kNewFalse:
      return step_number(op);
    case kString:
    case kBinString:
    case kShortBinString:
    case kUnicode:
    case kBinUnicode:
    case kShortBinUnicode:
    case kBinUnicode8:
    case kBinBytes:
    case kShortBinBytes:
    case kBinBytes8:
    case kByteArray8:
      return step_text(op);
    case kGet:
    case kBinGet:
    case kLongBinGet:
    case kPut:
    case kBinPut:
    case kLongBinPut:
    case kMemoize:
      return step_memo(op);
    case kPopMark:
    case kAppend:
    case kAppends:
    case kDict:
    case kEmptyDict:
    case kList:
    case kEmptyList:
    case kSetItem:
    case kSetItems:
    case kTuple:
    case kEmptyTuple:
    case kTuple1:
    case kTuple2:
    case kTuple3:
    case kEmptySet:
    case kAddItems:
    case kFrozenSet:
      return step_container(op);
    default:
      return step_object(op);
  }
}

bool Pickle::step_number(std::uint8_t op) {
  std::string_view line;
  switch (op) {
    case kInt:
    case kLong: {
      if (!take_line(line)) return false;
      if (line.ends_with('L')) line.remove_suffix(1);
      std::int64_t value = 0;
      const auto parsed = std::from_chars(line.data(), line.data() + line.size(), value);
      return parsed.ec == std::errc() ? push(integer(value)) : push({});
    }
    case kFloat:
      return take_line(line) && push({});
    case kBinInt: {
      std::int32_t value = 0;
      return take(value) && push(integer(value));
    }
    case kBinInt1: {
      std::uint8_t value = 0;
      return take(value) && push(integer(value));
    }
    case kBinInt2: {
      std::uint16_t value = 0;
      return take(value) && push(integer(value));
    }
    case kLong1: {
      std::uint8_t size = 0;
      return take(size) && push_long(size);
    }
    case kLong4: {
      std::uint32_t size = 0;
      return take(size) && push_long(size);
    }
    case kBinFloat:
      return push_span(8);
    default:
      return push({});  // None, True, False
  }
}

bool Pickle::step_text(std::uint8_t op) {
  std::string_view line;
  std::uint8_t short_size = 0;
  std::uint32_t size = 0;
  std::uint64_t long_size = 0;
  switch (op) {
    case kString:
    case kUnicode: {
      if (!take_line(line)) return false;
      const bool quotes = op == kString && line.size() >= 2 && line.front() == line.back();
      if (quotes) line = line.substr(1, line.size() - 2);
      return push({static_cast<std::uint64_t>(line.data() - bytes_.data()),
                   static_cast<std::uint32_t>(line.size()), Kind::text});
    }
    case kShortBinString:
    case kShortBinUnicode:
      return take(short_size) && push_text(short_size);
    case kBinString:
    case kBinUnicode:
      return take(size) && push_text(size);
    case kBinUnicode8:
      return take(long_size) && push_text(long_size);
    case kShortBinBytes:
      return take(short_size) && push_span(short_size);
    case kBinBytes:
      return take(size) && push_span(size);
    default:
      return take(long_size) && push_span(long_size);
  }
}

bool Pickle::step_memo(std::uint8_t op) {
  std::uint8_t byte = 0;
  std::uint32_t word = 0;
  std::uint64_t index = 0;
  std::string_view line;
  switch (op) {
    case kBinGet:
      return take(byte) && get(byte);
    case kLongBinGet:
      return take(word) && get(word);
    case kBinPut:
      return take(byte) && put(byte);
    case kLongBinPut:
      return take(word) && put(word);
    case kMemoize:
      return put(memo_count_);
    default: {
      if (!take_line(line)) return false;
      const char* const end = line.data() + line.size();
      const auto parsed = std::from_chars(line.data(), end, index);
      if (parsed.ec != std::errc() || parsed.ptr != end) {
        return fail("the pickle counts its values wrongly");
      }
      return op == kGet ? get(index) : put(index);
    }
  }
}

bool Pickle::step_container(std::uint8_t op) {
  std::size_t from = 0;
  Value value;
  switch (op) {
    case kEmptyDict:
      return push_dict();
    case kEmptyList:
    case kEmptySet:
      return push({});
    case kEmptyTuple:
      return push_tuple(0);
    case kTuple1:
      return push_tuple(1);
    case kTuple2:
      return push_tuple(2);
    case kTuple3:
      return push_tuple(3);
    case kTuple:
      return pop_mark(from) && push_tuple(stack_.size() - from);
    case kAppend:
      return pop(value);
    case kSetItem:
      return stack_.size() >= 2 ? set_items(stack_.size() - 2)
                                : fail("the pickle sets an item of no dict");
    case kSetItems:
      return pop_mark(from) && set_items(from);
    default:
      break;
  }
  if (!pop_mark(from)) return false;
  if (op == kDict) {
    std::vector<Value> items(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    if (!push_dict()) return false;
    stack_.insert(stack_.end(), items.begin(), items.end());
    return set_items(from + 1);
  }
  stack_.resize(from);
  return op == kList || op == kFrozenSet ? push({}) : true;
}

bool Pickle::step_object(std::uint8_t op) {
  Value value, function, result;
  std::string_view module, name;
  std::size_t from = 0;
  switch (op) {
    case kGlobal:
      return take_line(module) && take_line(name) && push_global(module, name);
    case kStackGlobal:
      if (!pop(value) || !pop(function)) return false;
      if (value.kind != Kind::text || function.kind != Kind::text) {
        return push_global("a computed", "name");
      }
      return push_global(text(function), text(value));
    case kReduce:
    case kNewObj:
      return pop(value) && pop(function) && call(function, value, 0, result) && push(result);
    case kNewObjEx:
      return pop(value) && pop(value) && pop(function) && push({});
    case kBuild:
      return pop(value);  // the state of an object that stays below
    case kInst:
      if (!take_line(module) || !take_line(name) || !pop_mark(from)) return false;
      stack_.resize(from);
      if (!push_global(module, name)) return false;
      stack_.back() = {};
      return true;
    case kObj:
      if (!pop_mark(from)) return false;
      stack_.resize(from);
      return push({});
    case kPersId:
      return take_line(name) && push({});
    case kBinPersId:
      return pop(value) && build_storage(value, result) && push(result);
    case kExt1:
    case kExt2:
    case kExt4:
      at_ += op == kExt1 ? 1 : op == kExt2 ? 2 : 4;
      if (at_ > bytes_.size()) {
        at_ = bytes_.size();
        ran_out_ = true;
        return fail("the pickle ends in the middle");
      }
      return push_global("an entry of the extension", "registry");
    case kNextBuffer:
      return push({});
    case kReadonlyBuffer:
      return !stack_.empty() || fail("the pickle lacks a buffer");
    default:
      return fail("byte " + std::to_string(op) + " is no opcode of a pickle");
  }
}

}  // namespace genscope::inspect

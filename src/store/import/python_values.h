// Values of Python that a file holds: lists, dicts, texts, numbers. Read by walking the bytes;
// nothing in them is ever called, imported or built.
//
// Each value is made by at least one byte, so memory is some 50 times the file at most, and values
// that are referred to twice are kept once. A file may make a list of itself: who walks the values
// goes to a depth that he knows, and counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "genscope/error.h"

namespace genscope::store {

class PythonValues {
 public:
  enum class Kind : std::uint8_t { none, boolean, integer, real, text, list, tuple, dict, other };
  static constexpr std::uint32_t kMissing = 0xFFFFFFFF;
  static constexpr std::size_t kMostValues = 100'000'000;

  // `bytes` must outlive this: texts are views of it.
  explicit PythonValues(std::string_view bytes) : bytes_(bytes) {}

  // The number of the value that was made; kMissing if there are too many.
  std::uint32_t none() { return add(Kind::none, 0); }
  std::uint32_t other() { return add(Kind::other, 0); }
  std::uint32_t boolean(bool value) { return add(Kind::boolean, value ? 1 : 0); }
  std::uint32_t integer(std::int64_t value) {
    return add(Kind::integer, static_cast<std::uint64_t>(value));
  }
  std::uint32_t real(double value) {
    return add(Kind::real, __builtin_bit_cast(std::uint64_t, value));
  }
  std::uint32_t text(std::size_t from, std::size_t size) {
    return add(Kind::text, from, static_cast<std::uint32_t>(size));
  }
  std::uint32_t container(Kind kind) {
    items_.emplace_back();
    return add(kind, items_.size() - 1);
  }
  std::vector<std::uint32_t>& items(std::uint32_t value) { return items_[values_[value].bits]; }

  Kind kind(std::uint32_t value) const {
    return value < values_.size() ? values_[value].kind : Kind::other;
  }
  bool holds_items(std::uint32_t value) const {
    const Kind k = kind(value);
    return k == Kind::list || k == Kind::tuple || k == Kind::dict;
  }
  // Of a list or tuple its items, of a dict key, value, key, value...; of anything else nothing.
  const std::vector<std::uint32_t>& of(std::uint32_t value) const {
    static const std::vector<std::uint32_t> nothing;
    return holds_items(value) ? items_[values_[value].bits] : nothing;
  }
  // The value under a text key; kMissing if there is none. Linear in the dict. The last counts.
  std::uint32_t member(std::uint32_t dict, std::string_view key) const;
  std::string_view text(std::uint32_t value) const {
    return kind(value) == Kind::text ? bytes_.substr(values_[value].bits, values_[value].size)
                                     : std::string_view();
  }
  std::optional<std::int64_t> integer_of(std::uint32_t value) const {
    if (kind(value) != Kind::integer) return std::nullopt;
    return static_cast<std::int64_t>(values_[value].bits);
  }
  // Of an integer or a float; finite.
  std::optional<double> number_of(std::uint32_t value) const;

  std::size_t size() const { return values_.size(); }
  std::uint32_t root = kMissing;

 private:
  struct Value {
    std::uint64_t bits = 0;  // a number, where a text begins, or which of items_
    std::uint32_t size = 0;
    Kind kind = Kind::other;
  };

  std::uint32_t add(Kind kind, std::uint64_t bits, std::uint32_t size = 0) {
    if (values_.size() >= kMostValues) return kMissing;
    values_.push_back({bits, size, kind});
    return static_cast<std::uint32_t>(values_.size() - 1);
  }

  std::string_view bytes_;
  std::vector<Value> values_;
  std::vector<std::vector<std::uint32_t>> items_;
};

// The word for a kind in messages: "a list".
std::string_view name(PythonValues::Kind kind);

// A pickle of protocol 2 or later. One that would call, import or build anything is refused by
// name; so is what is cut off.
Result<PythonValues> read_pickle(std::string_view bytes);
// What marshal.dump() wrote. Code objects are refused.
Result<PythonValues> read_marshal(std::string_view bytes);

}  // namespace genscope::store

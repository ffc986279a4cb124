// One list of fields for both directions. A struct says `io("key", member)` for each of its fields
// in fields(io, it); FieldWriting turns that into JSON, FieldReading takes a key's value into its
// field.
//
// What is absent is absent: empty texts, lists, maps and optionals are not written (`always` does
// write them). Null reads as absent. Unknown keys are skipped: later versions may add some.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyze/inference/inference.h"
#include "base/suggest.h"
#include "bench/result/json_reader.h"
#include "bench/result/json_writer.h"
#include "bench/result/private_paths.h"

namespace genscope::bench {

// fields() takes the struct const to write, and not const to read.
template <class S, class T>
concept Of = std::same_as<std::remove_const_t<S>, T>;

class FieldWriting {
 public:
  FieldWriting(JsonWriter& out, bool identify) : out_(out), identify_(identify) {}

  template <class T>
  void operator()(std::string_view key, const T& value) {
    if (!empty(value)) always(key, value);
  }
  template <class T>
  void always(std::string_view key, const T& value) {
    out_.key(key);
    put(value);
  }
  // Of others' words: commands, messages, files. Without secrets, and without the paths of this
  // machine unless they were asked for.
  void foreign(std::string_view key, const std::string& value) {
    if (value.empty()) return;
    out_.key(key);
    out_.text(shareable(value, identify_));
  }
  void foreign(std::string_view key, const std::vector<std::string>& values, bool words = false) {
    if (values.empty()) return;
    out_.key(key);
    out_.begin('[');
    for (const std::string& value : shareable(values, identify_, words)) out_.text(value);
    out_.end(']');
  }
  void foreign(std::string_view key, const std::map<std::string, std::string>& values) {
    if (values.empty()) return;
    out_.key(key);
    out_.begin('{');
    for (const auto& [name, value] : values) {
      out_.key(name);
      out_.text(shareable(value, identify_));
    }
    out_.end('}');
  }
  template <class E>
  void choice(std::string_view key, const E& value, E /*last*/) {
    out_.key(key);
    out_.text(name(value));
  }
  void interval(std::string_view ends, std::string_view level,
                const std::optional<stats::Interval>& value) {
    if (!value) return;
    out_.key(ends);
    out_.begin('[');
    out_.number(value->low);
    out_.number(value->high);
    out_.end(']');
    out_.key(level);
    out_.number(value->confidence);
  }
  template <class F>
  void custom(std::string_view key, bool present, F&& f) {
    if (!present) return;
    out_.key(key);
    f(*this);
  }
  // Elements of their own line each, for people and for diff.
  template <class T>
  void lines(std::string_view key, const std::vector<T>& values) {
    out_.key(key);
    out_.begin('[');
    for (const T& value : values) {
      out_.line();
      put(value);
    }
    out_.end(']');
  }
  template <class S>
  void object(const S& value) {
    out_.begin('{');
    fields(*this, value);
    out_.end('}');
  }
  JsonWriter& out() { return out_; }
  bool identify() const { return identify_; }

 private:
  void put(const std::string& value) { out_.text(value); }
  void put(double value) { out_.number(value); }
  void put(bool value) { out_.flag(value); }
  template <std::signed_integral I>
  void put(I value) {
    out_.integer(value);
  }
  template <std::unsigned_integral I>
  requires(!std::same_as<I, bool>) void put(I value) { out_.natural(value); }
  template <class T>
  void put(const std::optional<T>& value) {
    put(*value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    out_.begin('[');
    for (const T& value : values) put(value);
    out_.end(']');
  }
  template <class T>
  void put(const std::map<std::string, T>& values) {
    out_.begin('{');
    for (const auto& [key, value] : values) always(key, value);
    out_.end('}');
  }
  template <class S>
  requires std::is_class_v<S>
  void put(const S& value) { object(value); }

  template <class T>
  static bool empty(const T& value) {
    if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else if constexpr (requires { value.has_value(); }) {
      return !value.has_value();
    } else {
      return false;
    }
  }

  JsonWriter& out_;
  bool identify_;
};

class FieldReading {
 public:
  explicit FieldReading(JsonReader& in) : in_(in) {}

  template <class T>
  void operator()(std::string_view key, T& value) {
    if (mine(key)) take(value);
  }
  template <class T>
  void always(std::string_view key, T& value) {
    (*this)(key, value);
  }
  template <class T>
  void foreign(std::string_view key, T& value, bool /*words*/ = false) {
    (*this)(key, value);
  }
  template <class T>
  void lines(std::string_view key, std::vector<T>& values) {
    (*this)(key, values);
  }
  template <class E>
  void choice(std::string_view key, E& value, E last) {
    if (!mine(key)) return;
    std::string text;
    in_.read(text);
    std::vector<std::string> known;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      known.emplace_back(name(static_cast<E>(i)));
      if (known.back() != text) continue;
      value = static_cast<E>(i);
      return;
    }
    const std::string near = base::nearest(text, known);
    in_.fail("this word is not known" + (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  void interval(std::string_view ends, std::string_view level,
                std::optional<stats::Interval>& value) {
    if (mine(ends)) {
      if (in_.null()) return;
      if (!value) value.emplace();
      std::size_t n = 0;
      in_.elements([&] {
        double end = 0;
        in_.read(end);
        if (n < 2) (n == 0 ? value->low : value->high) = end;
        ++n;
      });
      if (n != 2) in_.fail("this should be two numbers, [low, high]");
    } else if (mine(level)) {
      if (in_.null()) return;
      if (!value) value.emplace();
      in_.read(value->confidence);
    }
  }
  template <class F>
  void custom(std::string_view key, bool /*present*/, F&& f) {
    if (mine(key)) f(*this);
  }
  template <class S>
  void object(S& value) {
    in_.members([&](std::string_view key) {
      FieldReading member(in_);
      member.key_ = key;
      fields(member, value);
      if (!member.found_) in_.skip();
    });
    if constexpr (requires { check(in_, value); }) check(in_, value);
  }
  // For keys that fields() cannot name: true once, if nobody took the value.
  bool unclaimed() { return !std::exchange(found_, true); }
  std::string_view key() const { return key_; }
  JsonReader& in() { return in_; }

 private:
  bool mine(std::string_view key) {
    if (found_ || key != key_) return false;
    return found_ = true;
  }
  template <class T>
  void take(T& value) {
    if constexpr (std::is_class_v<T> && !std::same_as<T, std::string>) {
      object(value);
    } else {
      in_.read(value);
    }
  }
  template <class T>
  void take(std::optional<T>& value) {
    if (in_.null()) return;
    take(value.emplace());
  }
  template <class T>
  void take(std::vector<T>& values) {
    values.clear();
    in_.elements([&] { take(values.emplace_back()); });
  }
  template <class T>
  void take(std::map<std::string, T>& values) {
    values.clear();
    in_.members([&](std::string_view key) { take(values[std::string(key)]); });
  }

  JsonReader& in_;
  std::string_view key_;
  bool found_ = false;
};

}  // namespace genscope::bench

// A pull scanner for JSON headers of up to 100 MB: no tree, no allocation, strings are decoded in
// place. What RFC 8259 does not allow is an error, but for NaN and Infinity, which Python writes
// into configurations. The caller walks the document:
//
//   JsonScan scan(text);
//   std::string_view key;
//   scan.open_object();
//   while (scan.next_member(key)) { if (key == "n") scan.natural(n); else scan.skip(); }
//   if (!scan.finish()) complain(scan.offset(), scan.reason());
//
// After a failure every call returns false, and reason() is of the first one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace genscope::inspect {

class JsonScan {
 public:
  enum class Kind : std::uint8_t { object, array, string, number, literal, none };
  // Deeper values than any header has are refused.
  static constexpr int kMaxDepth = 64;

  // `text` must outlive the scanner and the views that it gives; it is overwritten.
  explicit JsonScan(std::string& text) noexcept
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  Kind peek() noexcept;  // of the value that comes next
  bool open_object() noexcept { return open('{', "an object is expected"); }
  bool open_array() noexcept { return open('[', "an array is expected"); }
  // The next key, with its colon; false at the end of the object, which is consumed.
  bool next_member(std::string_view& key) noexcept;
  // False at the end of the array, which is consumed.
  bool next_element() noexcept { return next(']'); }

  bool string(std::string_view& value) noexcept;
  // A whole number from 0 to 2^64 - 1.
  bool natural(std::uint64_t& value) noexcept;
  // A string, a number as it is written, "true", "false", "null", "NaN" or "Infinity".
  bool scalar(std::string_view& value) noexcept;
  // Any value; `elements` of an array or object, if asked for.
  bool skip(std::uint64_t* elements = nullptr) noexcept { return skip(1, elements); }
  // True if nothing but blanks is left and nothing failed.
  bool finish() noexcept;

  // For a caller that finds a value wrong.
  bool fail(const char* reason) noexcept;
  bool failed() const noexcept { return reason_ != nullptr; }
  const char* reason() const noexcept { return reason_ == nullptr ? "" : reason_; }
  // Where we are; after a failure where that was.
  std::size_t offset() const noexcept {
    return static_cast<std::size_t>((failed() ? failed_at_ : at_) - begin_);
  }

 private:
  void blanks() noexcept;
  bool open(char bracket, const char* reason) noexcept;
  bool next(char closing) noexcept;
  bool skip(int depth, std::uint64_t* elements) noexcept;
  bool number(std::string_view& value) noexcept;
  bool word(const char* from, std::string_view& value) noexcept;
  bool unescape(char* to, std::string_view& value, char* from) noexcept;
  bool code_point(std::uint32_t& value) noexcept;
  bool hex4(std::uint32_t& value) noexcept;

  char* begin_;
  char* at_;
  char* end_;  // *end_ is the NUL of the string: loops need no second condition
  char* failed_at_ = nullptr;
  const char* reason_ = nullptr;
  bool fresh_ = false;  // a bracket was just opened: no comma before what comes
};

}  // namespace genscope::inspect

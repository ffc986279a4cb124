// Little-endian values one after another from a ByteSource, through a window, so that a header of
// unknown length needs neither the whole file nor a call of the kernel for each value.
//
// After a failure every call returns false, and error() is of the first one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "inspect/read/byte_source.h"

namespace genscope::inspect {

class ByteCursor {
 public:
  // Reads at most up to `end`. `budget`: how many bytes may be read in all; skipping is free.
  ByteCursor(const ByteSource& source, std::uint64_t begin, std::uint64_t end, std::uint64_t budget)
      : source_(source), at_(begin), end_(std::min(end, source.size())), budget_(budget) {}

  template <class T>
  bool take(T& value) {
    static_assert(std::endian::native == std::endian::little);
    if (!need(sizeof value)) return false;
    std::memcpy(&value, window_.data() + (at_ - window_at_), sizeof value);
    at_ += sizeof value;
    return true;
  }
  bool text(std::uint64_t size, std::string& value);
  bool skip(std::uint64_t size) {
    if (size > left()) return cut(size);
    at_ += size;
    return true;
  }

  std::uint64_t offset() const noexcept { return at_; }
  std::uint64_t left() const noexcept { return at_ <= end_ ? end_ - at_ : 0; }
  // Bytes fetched from the source.
  std::uint64_t fetched() const noexcept { return fetched_; }

  bool fail(std::string_view what, std::string_view remedy = kFetchAgain);
  bool failed() const noexcept { return error_.has_value(); }
  const Error& error() const { return *error_; }

 private:
  // Makes `size` bytes (few) at the cursor available in the window.
  bool need(std::uint64_t size) {
    const bool there = at_ >= window_at_ && at_ - window_at_ <= window_.size() &&
                       size <= window_.size() - (at_ - window_at_);
    return (there && !failed()) || fill(size);
  }
  bool fill(std::uint64_t size);
  bool cut(std::uint64_t size);

  const ByteSource& source_;
  std::uint64_t at_, end_, budget_;
  std::uint64_t window_at_ = 0, fetched_ = 0;
  std::string window_;
  std::optional<Error> error_;
};

}  // namespace genscope::inspect

// Bit streams and varints, for the packed columns. Little endian; bits fill bytes from below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace genscope::trace {

class BitWriter {
 public:
  explicit BitWriter(std::vector<std::byte>& out) : out_(out) {}
  // The low `count` bits of `value`, count <= 56; the bits above must be 0.
  void put(std::uint64_t value, unsigned count) {
    held_ |= value << used_;
    used_ += count;
    while (used_ >= 8) {
      out_.push_back(static_cast<std::byte>(held_));
      held_ >>= 8;
      used_ -= 8;
    }
  }
  void finish() {
    if (used_ > 0) out_.push_back(static_cast<std::byte>(held_));
    held_ = 0;
    used_ = 0;
  }

 private:
  std::vector<std::byte>& out_;
  std::uint64_t held_ = 0;
  unsigned used_ = 0;
};

// Reading past the end yields zeros and sets overrun().
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> in) : in_(in) {}
  std::uint64_t get(unsigned count) {  // count <= 56
    const std::size_t at = bit_ >> 3;
    std::uint64_t v = 0;
    if (at + 8 <= in_.size()) [[likely]] {
      std::memcpy(&v, in_.data() + at, 8);
    } else {
      if (bit_ + count > in_.size() * 8) overrun_ = true;
      if (at < in_.size()) std::memcpy(&v, in_.data() + at, in_.size() - at);
    }
    v = v >> (bit_ & 7) & ((std::uint64_t{1} << count) - 1);
    bit_ += count;
    return v;
  }
  bool overrun() const noexcept { return overrun_; }

 private:
  std::span<const std::byte> in_;
  std::size_t bit_ = 0;
  bool overrun_ = false;
};

inline void put_varint(std::vector<std::byte>& out, std::uint64_t v) {
  while (v >= 128) {
    out.push_back(static_cast<std::byte>(v | 128));
    v >>= 7;
  }
  out.push_back(static_cast<std::byte>(v));
}

// Bytes, then varints, from one place to the next. Past the end: zeros, and overrun() is set.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> in) : at_(in.data()), end_(at_ + in.size()) {}
  std::uint8_t byte() {
    if (at_ == end_) [[unlikely]] {
      overrun_ = true;
      return 0;
    }
    return static_cast<std::uint8_t>(*at_++);
  }
  std::uint64_t varint() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t b = byte();
      v |= std::uint64_t{b & 127u} << shift;
      if (b < 128) return v;
    }
    overrun_ = true;  // longer than any varint of ours
    return v;
  }
  std::uint64_t word() {
    std::uint64_t v = 0;
    if (static_cast<std::size_t>(end_ - at_) < 8) [[unlikely]] {
      overrun_ = true;
      at_ = end_;
      return 0;
    }
    std::memcpy(&v, at_, 8);
    at_ += 8;
    return v;
  }
  std::span<const std::byte> take(std::size_t n) {
    if (static_cast<std::size_t>(end_ - at_) < n) {
      overrun_ = true;
      n = static_cast<std::size_t>(end_ - at_);
    }
    const std::byte* const from = at_;
    at_ += n;
    return {from, n};
  }
  std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  bool overrun() const noexcept { return overrun_; }

 private:
  const std::byte* at_;
  const std::byte* end_;
  bool overrun_ = false;
};

constexpr std::uint64_t zigzag(std::int64_t v) noexcept {
  return static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t v) noexcept {
  return static_cast<std::int64_t>(v >> 1 ^ (~(v & 1) + 1));
}

}  // namespace genscope::trace

// A key's bytes: for each part a tag, its length and its bytes, so that no two lists of parts have
// the same bytes. Numbers are written in one way only.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "genscope/optimize/cache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace genscope::optimize {
namespace {

constexpr std::size_t kKeptWhole = 1024;

std::string_view word_bytes(const std::uint64_t& word) noexcept {
  return {reinterpret_cast<const char*>(&word), sizeof(word)};
}

void append_length(std::string& bytes, std::uint64_t length) {
  for (; length >= 0x80; length >>= 7) bytes.push_back(static_cast<char>(length | 0x80));
  bytes.push_back(static_cast<char>(length));
}

// Of content too long to keep: its length and hash.
std::string content_digest(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  const std::uint64_t words[] = {bytes.size(), hash.low64, hash.high64};
  return {reinterpret_cast<const char*>(words), sizeof(words)};
}

}  // namespace

KeyBuilder::KeyBuilder(std::string_view kind) {
  bytes_.reserve(64);
  put('k', kind);
  kind_at_ = static_cast<std::uint32_t>(bytes_.size() - kind.size());
  kind_size_ = static_cast<std::uint32_t>(kind.size());
}

void KeyBuilder::put(char tag, std::string_view bytes) {
  bytes_.push_back(tag);
  append_length(bytes_, bytes.size());
  bytes_.append(bytes);
}

KeyBuilder& KeyBuilder::add(std::string_view text) {
  put('s', text);
  return *this;
}

KeyBuilder& KeyBuilder::add(std::nullptr_t) {
  put('0', {});
  return *this;
}

KeyBuilder& KeyBuilder::add(std::span<const std::byte> bytes) {
  if (bytes.size() <= kKeptWhole) {
    put('b', {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } else {
    put('B', content_digest(bytes));
  }
  return *this;
}

KeyBuilder& KeyBuilder::add_bool(bool value) {
  put('t', value ? "1" : "0");
  return *this;
}

KeyBuilder& KeyBuilder::add_real(double value) {
  if (value == 0) value = 0;
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  put('f', word_bytes(std::bit_cast<std::uint64_t>(value)));
  return *this;
}

KeyBuilder& KeyBuilder::add_integer(bool negative, std::uint64_t two_complement) {
  put(negative ? '-' : '+', word_bytes(two_complement));
  return *this;
}

KeyBuilder& KeyBuilder::add_big_integer(std::string_view decimal) {
  put('i', decimal);
  return *this;
}

KeyBuilder& KeyBuilder::add_name(std::string_view name) {
  put('n', name);
  return *this;
}

KeyBuilder& KeyBuilder::begin_list(std::size_t count) {
  put('l', word_bytes(count));
  return *this;
}

KeyBuilder& KeyBuilder::begin_map(std::size_t count) {
  put('m', word_bytes(count));
  return *this;
}

KeyBuilder& KeyBuilder::add_array(std::string_view dtype, std::span<const std::int64_t> shape,
                                  std::span<const std::byte> content) {
  put('a', dtype);
  put('d', {reinterpret_cast<const char*>(shape.data()), shape.size_bytes()});
  return add(content);
}

KeyBuilder& KeyBuilder::lora(std::string_view name, double scale) {
  loras_.emplace_back(name, scale);
  return *this;
}

Key KeyBuilder::build() const {
  Key key;
  if (loras_.empty()) {
    key.bytes_ = bytes_;
  } else {
    KeyBuilder whole = *this;
    std::sort(whole.loras_.begin(), whole.loras_.end());
    whole.put('L', word_bytes(loras_.size()));
    for (const auto& [name, scale] : whole.loras_) whole.add(name).add(scale);
    key.bytes_ = std::move(whole.bytes_);
  }
  const XXH128_hash_t hash = XXH3_128bits(key.bytes_.data(), key.bytes_.size());
  key.low_ = hash.low64;
  key.high_ = hash.high64;
  key.kind_at_ = kind_at_;
  key.kind_size_ = kind_size_;
  key.kind_hash_ = XXH3_64bits(key.bytes_.data() + kind_at_, kind_size_);
  return key;
}

std::string Key::hex() const { return fmt::format("{:016x}{:016x}", high_, low_); }

}  // namespace genscope::optimize

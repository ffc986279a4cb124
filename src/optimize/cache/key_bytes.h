// The bytes of an entry's key in 24 bytes: up to 16 in place, more in a buffer of its own. The
// buffer stays for the next key of the same node, so that a full cache need not allocate for keys.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace genscope::optimize::cache {

class KeyBytes {
 public:
  KeyBytes() = default;
  ~KeyBytes() { free_buffer(); }
  KeyBytes(const KeyBytes&) = delete;
  KeyBytes& operator=(const KeyBytes&) = delete;

  std::string_view view() const noexcept { return {data(), size_}; }
  // Short keys are the usual ones: two words instead of a call.
  bool operator==(std::string_view other) const noexcept {
    if (size_ != other.size()) return false;
    const char* const own = data();
    if (size_ < 8 || size_ > 16) return std::memcmp(own, other.data(), size_) == 0;
    return word_at(own) == word_at(other.data()) &&
           word_at(own + size_ - 8) == word_at(other.data() + size_ - 8);
  }
  void assign(std::string_view bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    if (size > (capacity_ == 0 ? kInPlace : capacity_)) {
      char* const buffer = new char[size];
      free_buffer();
      place_.buffer = buffer;
      capacity_ = size;
    }
    std::memcpy(capacity_ == 0 ? place_.bytes : place_.buffer, bytes.data(), size);
    size_ = size;
  }
  // A long buffer is not kept for a short key.
  void clear() noexcept {
    size_ = 0;
    if (capacity_ > kKept) free_buffer();
  }

 private:
  static constexpr std::uint32_t kInPlace = 16, kKept = 256;
  static std::uint64_t word_at(const char* bytes) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return word;
  }
  const char* data() const noexcept { return capacity_ == 0 ? place_.bytes : place_.buffer; }
  void free_buffer() noexcept {
    if (capacity_ != 0) delete[] place_.buffer;
    capacity_ = 0;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;  // of the buffer; 0: in place
  union {
    char bytes[kInPlace];
    char* buffer;
  } place_{};
};

}  // namespace genscope::optimize::cache

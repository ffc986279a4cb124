// Texts to numbers, counted from 0; the same text is always the same number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace genscope::store {

class Interner {
 public:
  std::uint32_t of(std::string_view text) {
    const std::uint64_t hash = hash_of(text);
    if (texts_.size() * 2 >= slots_.size()) grow();
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].number != kFree) {
      const Slot& slot = slots_[at];
      if (slot.hash == static_cast<std::uint32_t>(hash >> 32) && same(texts_[slot.number], text)) {
        return slot.number;
      }
      at = (at + 1) & (slots_.size() - 1);
    }
    const auto number = static_cast<std::uint32_t>(texts_.size());
    slots_[at] = {static_cast<std::uint32_t>(hash >> 32), number};
    texts_.emplace_back(text);
    return number;
  }

  const std::string& text(std::uint32_t number) const { return texts_[number]; }
  std::size_t size() const { return texts_.size(); }
  std::vector<std::string> take() {
    slots_.clear();
    return std::move(texts_);
  }

 private:
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = kFree;
  };

  // 16 bytes at a time, the last overlapping: a product of 128 bits, folded. With numbers that a
  // file cannot know, so that none is made of texts that collide.
  static std::uint64_t hash_of(std::string_view text) noexcept {
    static const std::array<std::uint64_t, 2> secret = [] {
      std::random_device random;
      const auto draw = [&] { return std::uint64_t{random()} << 32 | random(); };
      return std::array{draw(), draw()};
    }();
    const char* p = text.data();
    std::size_t n = text.size();
    std::uint64_t h = secret[0] ^ n;
    if (n < 8) {
      std::uint64_t a = 0;
      if (n >= 4) {
        a = load<std::uint32_t>(p) | std::uint64_t{load<std::uint32_t>(p + n - 4)} << 32;
      } else if (n > 0) {
        const auto at = [p](std::size_t i) { return std::uint64_t{load<std::uint8_t>(p + i)}; };
        a = at(0) | at(n / 2) << 8 | at(n - 1) << 16;
      }
      return fold(a ^ secret[1], h);
    }
    for (; n > 16; p += 16, n -= 16) {
      h = fold(load<std::uint64_t>(p) ^ secret[1], load<std::uint64_t>(p + 8) ^ h);
    }
    const char* const end = text.data() + text.size();
    if (n > 8) h = fold(load<std::uint64_t>(p) ^ secret[1], h);
    return fold(load<std::uint64_t>(end - 8) ^ secret[1], h);
  }
  static bool same(const std::string& a, std::string_view b) noexcept { return a == b; }
  template <class T>
  static T load(const char* p) noexcept {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  static std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  void grow() {
    const std::size_t size = slots_.empty() ? 64 : slots_.size() * 2;
    slots_.assign(size, {});
    for (std::uint32_t n = 0; n < texts_.size(); ++n) {
      const std::uint64_t hash = hash_of(texts_[n]);
      std::size_t at = hash & (size - 1);
      while (slots_[at].number != kFree) at = (at + 1) & (size - 1);
      slots_[at] = {static_cast<std::uint32_t>(hash >> 32), n};
    }
  }

  std::vector<std::string> texts_;
  std::vector<Slot> slots_;
};

}  // namespace genscope::store

// Texts to numbers, counted from 0; the same text is always the same number.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace genscope::store {

class Interner {
 public:
  std::uint32_t of(std::string_view text) {
    const std::size_t hash = std::hash<std::string_view>{}(text);
    if (texts_.size() * 2 >= slots_.size()) grow();
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].number != kFree) {
      const Slot& slot = slots_[at];
      if (slot.hash == static_cast<std::uint32_t>(hash >> 32) && texts_[slot.number] == text) {
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

  void grow() {
    const std::size_t size = slots_.empty() ? 64 : slots_.size() * 2;
    slots_.assign(size, {});
    for (std::uint32_t n = 0; n < texts_.size(); ++n) {
      const std::size_t hash = std::hash<std::string_view>{}(texts_[n]);
      std::size_t at = hash & (size - 1);
      while (slots_[at].number != kFree) at = (at + 1) & (size - 1);
      slots_[at] = {static_cast<std::uint32_t>(hash >> 32), n};
    }
  }

  std::vector<std::string> texts_;
  std::vector<Slot> slots_;
};

}  // namespace genscope::store

#include "watch/trail.h"

#include <algorithm>
#include <cmath>

namespace genscope::watch {

void Trail::push(std::optional<double> value) {
  values_[next_] = value;
  next_ = (next_ + 1) % kCapacity;
  size_ = std::min(size_ + 1, kCapacity);
}

std::optional<double> Trail::from_newest(std::size_t age) const {
  return values_[(next_ + kCapacity - 1 - age) % kCapacity];
}

std::string Trail::draw(std::size_t width, double full, bool unicode) const {
  constexpr std::array<const char*, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 8> kPlain = {"_", ".", ":", "-", "=", "+", "*", "#"};
  width = std::min(width, kCapacity);
  if (full <= 0) {
    for (std::size_t age = 0; age < std::min(width, size_); ++age) {
      full = std::max(full, from_newest(age).value_or(0));
    }
  }
  std::string out;
  for (std::size_t i = width; i-- > 0;) {
    const std::optional<double> value = i < size_ ? from_newest(i) : std::nullopt;
    if (!value || !std::isfinite(*value)) {
      out += ' ';
      continue;
    }
    const double level = full > 0 ? std::clamp(*value / full, 0.0, 1.0) : 0;
    const auto bar = static_cast<std::size_t>(std::lround(level * (kBars.size() - 1)));
    out += unicode ? kBars[bar] : kPlain[bar];
  }
  return out;
}

}  // namespace genscope::watch

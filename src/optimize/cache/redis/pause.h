// Whether to ask Redis at all: after three failures in a row it is left alone, each time for twice
// as long. The first call after a pause tries it; the others wait for that one's luck. Time is an
// argument.
#pragma once

#include <algorithm>
#include <cstdint>

namespace genscope::optimize::cache {

class Pause {
 public:
  Pause(std::int64_t first_ns, std::int64_t longest_ns) noexcept
      : first_(first_ns), longest_(longest_ns) {}

  bool may_try(std::int64_t now_ns) noexcept {
    if (failures_ < kFailures) return true;
    if (now_ns < until_) return false;
    until_ = now_ns + first_;  // one probe at a time
    return true;
  }
  void worked() noexcept {
    failures_ = 0;
    length_ = 0;
  }
  void failed(std::int64_t now_ns) noexcept {
    if (++failures_ < kFailures) return;
    length_ = length_ == 0 ? first_ : std::min(length_ * 2, longest_);
    until_ = now_ns + length_;
  }
  bool open(std::int64_t now_ns) const noexcept {
    return failures_ >= kFailures && now_ns < until_;
  }

 private:
  static constexpr int kFailures = 3;
  std::int64_t first_, longest_;
  std::int64_t until_ = 0, length_ = 0;
  int failures_ = 0;
};

}  // namespace genscope::optimize::cache

// The stack of sync spans that are open at one point of a lane's words.
//
// The drain thread keeps one per lane, so that every frame can open with it; the packer uses its
// tags to leave out of an end what the stack already says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "genscope/internal/word.h"

namespace genscope::trace {

// As stored at the start of a chunk frame: 24 bytes, little endian.
struct OpenSpan {
  std::uint64_t id = 0;
  std::uint64_t begin_tick = 0;  // absolute
  std::uint32_t site = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(OpenSpan) == 24);

class OpenSpans {
 public:
  // Spans that were ended from another thread are never popped here; beyond this depth the oldest
  // half is forgotten, so that they cannot accumulate.
  static constexpr std::size_t kMaxDepth = 4096;

  void push(std::uint64_t id, std::uint64_t begin_tick, std::uint32_t site) {
    if (stack_.size() == kMaxDepth) {
      stack_.erase(stack_.begin(), stack_.begin() + kMaxDepth / 2);
    }
    stack_.push_back({id, begin_tick, site, 0});
  }

  bool top_is(std::uint32_t tag) const noexcept {
    return !stack_.empty() && internal::tag_of(stack_.back().id) == tag;
  }

  // Removes the innermost span with this tag, if there is one.
  void pop(std::uint32_t tag) noexcept {
    if (top_is(tag)) {
      stack_.pop_back();
      return;
    }
    for (std::size_t i = stack_.size(); i-- > 0;) {
      if (internal::tag_of(stack_[i].id) != tag) continue;
      stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }

  const std::vector<OpenSpan>& spans() const noexcept { return stack_; }
  void swap(std::vector<OpenSpan>& other) noexcept { stack_.swap(other); }

 private:
  std::vector<OpenSpan> stack_;
};

}  // namespace genscope::trace

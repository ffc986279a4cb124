#include "analyze/resources/enclosing.h"

#include <algorithm>

namespace genscope::analysis {

Enclosing::Enclosing(const Trace& trace)
    : stage_(trace.spans.size(), kNone), in_step_(trace.spans.size()) {
  for (std::uint32_t i = 0; i < stage_.size(); ++i) {
    const SpanKind kind = trace.kind(i);
    const std::uint32_t parent = trace.spans.parent[i];
    const bool has_parent = parent < i;  // kNone is not
    const bool is_stage = kind == SpanKind::stage || kind == SpanKind::load;
    if (is_stage) {
      stage_[i] = trace.spans.name[i];
    } else if (has_parent) {
      stage_[i] = stage_[parent];
    }
    in_step_[i] = kind == SpanKind::step || (has_parent && in_step_[parent]);
  }
}

void InnermostAt::sort() {
  std::stable_sort(all_.begin(), all_.end(),
                   [](const Open& a, const Open& b) { return a.time.begin < b.time.begin; });
}

void InnermostAt::rewind() noexcept {
  next_ = 0;
  open_.clear();
}

std::uint32_t InnermostAt::at(std::int64_t ns) {
  for (; next_ < all_.size() && all_[next_].time.begin <= ns; ++next_) {
    while (!open_.empty() && open_.back().time.end <= ns) open_.pop_back();
    if (all_[next_].time.end > ns) open_.push_back(all_[next_]);
  }
  while (!open_.empty() && open_.back().time.end <= ns) open_.pop_back();
  return open_.empty() ? kNone : open_.back().name;
}

}  // namespace genscope::analysis

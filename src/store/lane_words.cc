#include "genscope/internal/word.h"
#include "store/lane_encoder.h"

namespace genscope::store {

using internal::make_word;
using internal::Op;

void LaneWords::start(std::uint32_t lane, TraceOutput* out) {
  lane_ = lane;
  seq_ = 0;
  words_.clear();
  open_ = {};
  out_ = out;
}

std::uint64_t LaneWords::next_id() const {
  return internal::make_id(lane_, seq_, static_cast<std::uint32_t>(words_.size()));
}

void LaneWords::room(std::size_t words, std::uint64_t tick) {
  constexpr std::size_t kRebase = 2;
  if (words_.size() + words + kRebase > kMaxWords) flush();
  if (words_.empty()) {
    base_ = chunk_base_ = tick;
  } else if (tick - base_ > internal::kLowMask) {
    words_.push_back(make_word(Op::rebase, 0, 0));
    words_.push_back(tick);
    base_ = tick;
  }
}

void LaneWords::flush() {
  if (out_ != nullptr) out_->chunk(lane_, seq_, chunk_base_, words_, open_);
  seq_++;
  words_.clear();
}

void LaneWords::finish() {
  if (!words_.empty() || seq_ == 0) flush();
}

}  // namespace genscope::store

#include "optimize/cache/value_block.h"

namespace genscope::optimize {

Value Value::adopt(void* data, std::size_t bytes, Destroy destroy, void* context) {
  Value value;
  Block* const block = new Block;
  value.block_ = block;
  block->data = data;
  block->bytes = bytes;
  block->destroy = destroy;
  block->context = context;
  return value;
}

void* Value::data() const noexcept { return block_ != nullptr ? block().data : nullptr; }
std::size_t Value::bytes() const noexcept { return block_ != nullptr ? block().bytes : 0; }

void Value::destroy() noexcept {
  Block* const gone = &block();
  if (gone->pinned) gone->pinned->fetch_sub(gone->bytes, std::memory_order_relaxed);
  if (gone->destroy != nullptr) gone->destroy(gone->data, gone->context);
  delete gone;
}

const char* name(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::hit:
      return "hit";
    case Outcome::stale:
      return "stale";
    case Outcome::loaded:
      return "loaded";
    case Outcome::coalesced:
      return "coalesced";
    case Outcome::negative:
      return "negative";
    case Outcome::failed:
      return "failed";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::timed_out:
      return "timed_out";
    case Outcome::lead:
      return "lead";
    case Outcome::wait:
      return "wait";
  }
  return "";
}

}  // namespace genscope::optimize

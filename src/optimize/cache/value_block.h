// What a Value points to.
#pragma once

#include <memory>

#include "genscope/optimize/cache.h"

namespace genscope::optimize {

struct Value::Block : Value::Holders {
  std::atomic<bool> left_cache{false};  // `pinned` counts it
  void* data = nullptr;
  std::size_t bytes = 0;
  Destroy destroy = nullptr;
  void* context = nullptr;
  std::shared_ptr<std::atomic<std::uint64_t>> pinned;
};

inline Value::Block& Value::block() const noexcept { return static_cast<Block&>(*block_); }

}  // namespace genscope::optimize

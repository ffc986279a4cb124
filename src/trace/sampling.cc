#include "trace/sampling.h"

#include <atomic>

namespace genscope::trace {
namespace {

// Constant-initialised: who registers does so before main(), in an order that nobody knows.
constinit std::atomic<const Sampling*> the_sampling{nullptr};

}  // namespace

const Sampling* registered_sampling() noexcept {
  return the_sampling.load(std::memory_order_acquire);
}

void register_sampling(const Sampling& sampling) noexcept {
  the_sampling.store(&sampling, std::memory_order_release);
}

}  // namespace genscope::trace

// After the start, sampling allocates nothing: counted, with the probes of the host on this
// machine.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "base/clock.h"
#include "probe/sampling_loop.h"
#include "testing/sanitizer.h"

namespace {
thread_local std::size_t t_allocations = 0;
}

// The sanitizers have their own. Not inlined: g++ 12 would then see free() after operator new.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
[[gnu::noinline]] void* operator new(std::size_t size) {
  t_allocations++;
  if (void* const p = std::malloc(size != 0 ? size : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

namespace genscope::probe {
namespace {

TEST(Sampling, AllocatesNothingAfterTheStart) {
  if (testing::kSanitized) GTEST_SKIP() << "a sanitizer's own allocator cannot be counted";
  SamplerOptions options;
  options.budget_ratio = 1;
  SamplingLoop loop(options);
  for (const char* name : {"process", "system", "cgroup", "rapl", "amdgpu", "intel"}) {
    Result<std::unique_ptr<Probe>> probe = make_probe(name);
    ASSERT_TRUE(probe.ok());
    loop.add(std::move(*probe));
  }
  std::int64_t now = base::monotonic_ns();
  const std::int64_t start = now;
  loop.open(now);
  while (now < start + 20'000'000'000) now = loop.run_due(now);  // virtual time, real files
  const std::size_t before = t_allocations;
  while (now < start + 60'000'000'000) now = loop.run_due(now);
  EXPECT_EQ(t_allocations, before);
  EXPECT_GT(before, 0u) << "or nothing is counted";
}

}  // namespace
}  // namespace genscope::probe

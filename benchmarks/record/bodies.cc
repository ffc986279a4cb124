#include "record/bodies.h"

#include <array>
#include <string>
#include <vector>

#include <genscope/record.h>

namespace bench {

using genscope::internal::fast_ticks;

void empty_loop(std::uint64_t n) {
  while (n-- > 0) clobber();
}

void tsc_pair(std::uint64_t n) {
  while (n-- > 0) {
    const std::uint64_t a = fast_ticks();
    clobber();
    const std::uint64_t b = fast_ticks();
    asm volatile("" ::"r"(a), "r"(b));
  }
}

void tsc_and_store(std::uint64_t n) {
  struct alignas(32) Record {
    std::uint64_t begin, end, name, parent;
  };
  static thread_local std::array<Record, 1 << 15> ring;
  std::size_t at = 0;
  while (n-- > 0) {
    const std::uint64_t a = fast_ticks();
    clobber();
    const std::uint64_t b = fast_ticks();
    ring[at++ & (ring.size() - 1)] = {a, b, 7, 1};
    clobber();
  }
}

void static_span(std::uint64_t n) {
  while (n-- > 0) {
    GENSCOPE_STAGE("denoise_step");
    clobber();
  }
}

void span_with_arguments(std::uint64_t n) {
  while (n-- > 0) {
    GENSCOPE_STAGE("denoise_step", GENSCOPE_ARG("step", n), GENSCOPE_ARG("tokens", n * 3));
    clobber();
  }
}

void dynamic_span(std::uint64_t n) {
  static const auto names = [] {
    std::array<std::string, 16> list;
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i] = "transformer.block." + std::to_string(i) + ".attn";
    }
    return list;
  }();
  while (n-- > 0) {
    genscope::Span span(names[n & 15]);
    clobber();
  }
}

const std::vector<std::string>& many_names() {
  static const auto names = [] {
    std::vector<std::string> list;
    for (int i = 0; i < 65'536; ++i) {
      list.push_back("transformer.block." + std::to_string(i) + ".attn");
    }
    return list;
  }();
  return names;
}

void span_of_many_names(std::uint64_t n) {
  const std::vector<std::string>& names = many_names();
  while (n-- > 0) {
    genscope::Span span(names[n & 65'535]);
    clobber();
  }
}

// In no order: then the caller's own names are out of the caches too.
void span_of_random_names(std::uint64_t n) {
  const std::vector<std::string>& names = many_names();
  std::uint64_t next = n;
  while (n-- > 0) {
    next = next * 6364136223846793005u + 1442695040888963407u;
    genscope::Span span(names[next >> 48]);
    clobber();
  }
}

void read_random_names(std::uint64_t n) {
  const std::vector<std::string>& names = many_names();
  std::uint64_t next = n;
  while (n-- > 0) {
    next = next * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t a = fast_ticks();
    const std::string& name = names[next >> 48];
    const char first = name[0], last = name.back();
    asm volatile("" ::"r"(first), "r"(last));
    const std::uint64_t b = fast_ticks();
    asm volatile("" ::"r"(a), "r"(b));
  }
}

void numbered_step(std::uint64_t n) {
  while (n-- > 0) {
    genscope::Step step(static_cast<std::int64_t>(n & 63));
    clobber();
  }
}

void detached_span(std::uint64_t n) {
  static constinit genscope::Site site{"request", genscope::SpanKind::request, {0}};
  while (n-- > 0) {
    const genscope::Handle handle = genscope::begin(site);
    clobber();
    genscope::end(handle);
  }
}

void detached_dynamic_span(std::uint64_t n) {
  while (n-- > 0) {
    const genscope::Handle handle = genscope::begin(genscope::SpanKind::request, "request");
    clobber();
    genscope::end(handle);
  }
}

void counter_by_name(std::uint64_t n) {
  while (n-- > 0) {
    genscope::counter("loss", static_cast<double>(n));
    clobber();
  }
}

void static_counter(std::uint64_t n) {
  while (n-- > 0) {
    GENSCOPE_COUNTER("loss", static_cast<double>(n));
    clobber();
  }
}

void event_by_name(std::uint64_t n) {
  while (n-- > 0) {
    genscope::event("milestone");
    clobber();
  }
}

std::vector<double> latencies(Body body, std::size_t n) {
  std::vector<double> out;
  out.reserve(n);
  for (std::size_t i = 0; i < n / 10; ++i) {
    body(1);
    irregular_work();
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t a = fast_ticks();
    body(1);
    out.push_back(static_cast<double>(fast_ticks() - a));
    irregular_work();
  }
  return out;
}

double tick_ns() {
  const std::uint64_t t0 = fast_ticks(), c0 = clock_ns(CLOCK_MONOTONIC);
  while (clock_ns(CLOCK_MONOTONIC) - c0 < 20'000'000) {
  }
  const std::uint64_t t1 = fast_ticks(), c1 = clock_ns(CLOCK_MONOTONIC);
  return static_cast<double>(c1 - c0) / static_cast<double>(t1 - t0);
}

}  // namespace bench

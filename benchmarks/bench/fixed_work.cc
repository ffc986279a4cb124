// fixed_work COUNT: that many rounds of arithmetic on one thread; the same work each time.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  std::uint64_t state = 0x9E3779B97F4A7C15;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  }
  return std::printf("%llu\n", static_cast<unsigned long long>(state)) < 0 ? 1 : 0;
}

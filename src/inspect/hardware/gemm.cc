#include "inspect/hardware/gemm.h"

#include <array>

namespace genscope::inspect {
namespace {

// Vectors of the compiler's own kind. may_alias, so that they may be read from arrays of float.
typedef float Float4 __attribute__((vector_size(16), may_alias));
typedef float Float8 __attribute__((vector_size(32), may_alias));
typedef float Float16 __attribute__((vector_size(64), may_alias));

// Rows * Vectors accumulators stay in registers; each step of depth loads a row of B once and
// multiplies it with every element of a column of A. Inlined into a function that says which
// instructions it may use. CMakeLists.txt compiles this file with -O3 in every build: without
// unrolling the accumulators would live in memory.
template <std::size_t kRows, std::size_t kVectors, class Vector>
[[gnu::always_inline]] inline void tile(std::size_t depth, const float* a, const float* b,
                                        float* c) {
  constexpr std::size_t kLanes = sizeof(Vector) / sizeof(float);
  Vector sum[kRows][kVectors];
  auto* out = reinterpret_cast<Vector*>(c);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kVectors; ++j) sum[i][j] = out[i * kVectors + j];
  }
  for (std::size_t k = 0; k < depth; ++k) {
    const auto* row = reinterpret_cast<const Vector*>(b + k * kVectors * kLanes);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kVectors; ++j) sum[i][j] += row[j] * a[k * kRows + i];
    }
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kVectors; ++j) out[i * kVectors + j] = sum[i][j];
  }
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void gemm_avx512(std::size_t depth, const float* a, const float* b,
                                            float* c) {
  tile<8, 3, Float16>(depth, a, b, c);
}
[[gnu::target("avx2,fma")]] void gemm_avx2(std::size_t depth, const float* a, const float* b,
                                           float* c) {
  tile<6, 2, Float8>(depth, a, b, c);
}
#endif

// SSE2 on x86-64, NEON on arm64: 128 bits are everywhere.
void gemm_baseline(std::size_t depth, const float* a, const float* b, float* c) {
  tile<6, 2, Float4>(depth, a, b, c);
}

std::array<GemmKernel, 4> supported() {
  std::array<GemmKernel, 4> list{};
  std::size_t n = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) list[n++] = {"AVX-512", 8, 48, gemm_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    list[n++] = {"AVX2", 6, 16, gemm_avx2};
  }
#endif
  list[n] = {"128-bit vectors", 6, 8, gemm_baseline};
  return list;
}

}  // namespace

const GemmKernel* gemm_kernels() noexcept {
  static const std::array<GemmKernel, 4> list = supported();
  return list.data();
}

const GemmKernel& gemm_kernel() noexcept { return gemm_kernels()[0]; }

}  // namespace genscope::inspect

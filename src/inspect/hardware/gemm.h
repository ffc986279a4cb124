// The inner part of a matrix product in fp32, as fast as plain C++ gets: for the peak of a CPU.
#pragma once

#include <cstddef>

namespace genscope::inspect {

// One tile of C += A * B. A is packed by columns of `rows` elements, B by rows of `columns`
// elements, C is rows by columns without gaps; all aligned to 64 bytes.
struct GemmKernel {
  const char* name;  // of the instruction set
  std::size_t rows, columns;
  void (*run)(std::size_t depth, const float* a, const float* b, float* c);
};

// The best for this CPU.
const GemmKernel& gemm_kernel() noexcept;
// All that this CPU can run, for tests; ends with {nullptr}.
const GemmKernel* gemm_kernels() noexcept;

}  // namespace genscope::inspect

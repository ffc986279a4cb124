#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include <genscope/predict.h>

#include "inspect/hardware/gemm.h"

namespace genscope {
namespace {

using inspect::GemmKernel;

struct Aligned {
  explicit Aligned(std::size_t count)
      : data(static_cast<float*>(::operator new[](count * sizeof(float), std::align_val_t{64}))) {}
  ~Aligned() { ::operator delete[](data, std::align_val_t{64}); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  float* data;
};

void check(const GemmKernel& kernel, std::size_t depth) {
  const std::size_t rows = kernel.rows, columns = kernel.columns;
  const Aligned a(rows * depth), b(columns * depth), c(rows * columns);
  for (std::size_t i = 0; i < rows * depth; ++i) a.data[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < columns * depth; ++i) b.data[i] = static_cast<float>(i % 5) - 2;
  for (std::size_t i = 0; i < rows * columns; ++i) c.data[i] = static_cast<float>(i);
  kernel.run(depth, a.data, b.data, c.data);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      auto expected = static_cast<float>(i * columns + j);
      for (std::size_t k = 0; k < depth; ++k) {
        expected += a.data[k * rows + i] * b.data[k * columns + j];
      }
      ASSERT_EQ(c.data[i * columns + j], expected) << kernel.name << " " << i << "," << j;
    }
  }
}

// Small integers: exact in any order of summation.
TEST(Gemm, EveryKernelMultiplies) {
  for (const GemmKernel* kernel = inspect::gemm_kernels(); kernel->run != nullptr; ++kernel) {
    for (const std::size_t depth : {0u, 1u, 2u, 17u, 256u}) check(*kernel, depth);
  }
}

TEST(MeasureCpu, FillsInAMachine) {
  const Hardware cpu = measure_cpu(0.05);
  EXPECT_TRUE(cpu.measured);
  EXPECT_FALSE(cpu.name.empty());
  EXPECT_GT(cpu.bf16_tflops, 0);
  EXPECT_GT(cpu.bandwidth_gbs, 0);
  EXPECT_GT(cpu.memory_gib, 0);
  EXPECT_NE(cpu.source.find("measured"), std::string::npos);
  const Result<Prediction> p = predict(*cost_spec("sd1.5"), {}, cpu);
  ASSERT_TRUE(p.ok());
  EXPECT_TRUE(std::isfinite(p->step_seconds));
}

}  // namespace
}  // namespace genscope

// A clock and a memory reader that a test sets. For *_test.cc only.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include <genscope/compat/memory_reader.h>

namespace genscope::compat::training {

// Virtual time, shared by all threads of a test.
struct Script {
  static inline std::atomic<std::int64_t> now_ns{0};
  static std::int64_t clock() noexcept { return now_ns.load(); }
  static void pass(double seconds) { now_ns += static_cast<std::int64_t>(seconds * 1e9 + 0.5); }
};

constexpr std::uint64_t mebibytes(double mb) {
  return static_cast<std::uint64_t>(mb * 1024 * 1024 + 0.5);
}

// An allocator with one peak, and readings that take their time.
class ScriptedMemory final : public MemoryReader {
 public:
  std::optional<std::uint64_t> cpu_bytes() noexcept override {
    Script::now_ns += cost_ns;
    cpu_readings++;
    return cpu;
  }
  bool has_gpu() const noexcept override { return gpu_present; }
  GpuMemory gpu() noexcept override {
    Script::now_ns += cost_ns;
    return {used, reserved, peak};
  }
  void reset_gpu_peak() noexcept override { peak = used; }
  std::string gpu_reason() const override { return gpu_present ? "" : "scripted: no GPU"; }

  void use(double mb) {
    used = mebibytes(mb);
    if (peak) peak = std::max(*peak, used);
  }

  std::optional<std::uint64_t> cpu = 0;
  bool gpu_present = true;
  std::uint64_t used = 0;
  std::optional<std::uint64_t> reserved = 0;
  std::optional<std::uint64_t> peak = 0;
  std::int64_t cost_ns = 0;
  int cpu_readings = 0;
};

}  // namespace genscope::compat::training

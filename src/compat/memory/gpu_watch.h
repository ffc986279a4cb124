// GpuWatch: GPU memory over the life of one operation, its peak included.
//
// An allocator has one peak, which counts from its last reset, and operations nest and overlap. So
// the peak is never lost with a reset: whoever resets it first gives what it was to every watch
// that is open on the same reader, on any thread and in any monitor.
#pragma once

#include <cstdint>
#include <optional>

#include <genscope/compat/memory_reader.h>

namespace genscope::compat::training {

class GpuWatch {
 public:
  GpuWatch() = default;
  ~GpuWatch() { abandon(); }
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // Reads, and starts a peak of its own. Without a GPU it does nothing, and takes no lock.
  void open(MemoryReader* reader) noexcept;
  // Reads, and ends it. begin(), end() and peak_bytes() hold the result until the next open().
  void close() noexcept;
  // Ends it without a reading.
  void abandon() noexcept;

  const GpuMemory& begin() const noexcept { return begin_; }
  const GpuMemory& end() const noexcept { return end_; }
  std::optional<std::uint64_t> peak_bytes() const noexcept { return peak_; }

 private:
  void see(std::optional<std::uint64_t> bytes) noexcept;
  static void give_to_all(const MemoryReader* reader, const GpuMemory& now) noexcept;
  void unlink() noexcept;

  MemoryReader* reader_ = nullptr;  // null: not open
  GpuMemory begin_, end_;
  std::optional<std::uint64_t> peak_;
  GpuWatch* previous_ = nullptr;  // in the list of open watches, under its lock
  GpuWatch* next_ = nullptr;
};

}  // namespace genscope::compat::training

#include <map>
#include <mutex>
#include <optional>

#include <genscope/compat/memory_reader.h>

#include "compat/memory/device_memory.h"
#include "monitor/memory/process_memory.h"

namespace genscope {
namespace {

class SystemMemory final : public MemoryReader {
 public:
  explicit SystemMemory(const MemoryReaderOptions& options) {
    if (options.gpu) device_.emplace(options.device);
  }

  std::optional<std::uint64_t> cpu_bytes() noexcept override { return process_.resident_bytes(); }
  bool has_gpu() const noexcept override { return device_ && device_->found(); }
  GpuMemory gpu() noexcept override {
    GpuMemory memory;
    if (device_) memory.used_bytes = device_->used_bytes();
    return memory;
  }
  std::string gpu_reason() const override {
    return device_ ? device_->reason() : std::string("GPU memory was not asked for");
  }

 private:
  monitor::ProcessMemory process_;
  std::optional<compat::training::DeviceMemory> device_;
};

}  // namespace

std::shared_ptr<MemoryReader> make_memory_reader(const MemoryReaderOptions& options) {
  return std::make_shared<SystemMemory>(options);
}

std::shared_ptr<MemoryReader> default_memory_reader(int device) {
  // Never freed: monitors with static lifetime may outlive any order of destruction.
  static auto* const mutex = new std::mutex;
  static auto* const readers = new std::map<int, std::shared_ptr<MemoryReader>>;
  const std::lock_guard lock(*mutex);
  std::shared_ptr<MemoryReader>& reader = (*readers)[device];
  if (reader == nullptr) reader = make_memory_reader({.gpu = true, .device = device});
  return reader;
}

}  // namespace genscope

// Resident memory of this process, by one pread of a file that stays open.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace genscope::monitor {

// Any thread. A forked child reads its own file, not its parent's.
class ProcessMemory {
 public:
  ProcessMemory();
  ~ProcessMemory();
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;

  std::optional<std::uint64_t> resident_bytes() noexcept;

 private:
  void open() noexcept;

  std::atomic<int> fd_{-1};
  std::atomic<std::uint32_t> forks_{0};  // as of open()
  std::uint64_t page_bytes_ = 4096;
};

}  // namespace genscope::monitor

// The processes on a GPU: three lists (compute, graphics, MPS) merged by pid, and their use.
//
// The same symbol, nvmlDeviceGet...RunningProcesses_v3, filled entries of 32 bytes in the first
// drivers of 535 and of 24 ever since. Nothing tells them apart but what they write: so the buffer
// is poisoned before the call, and the last byte that changed gives the stride away.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file_reader.h"
#include "genscope/probe.h"
#include "probe/nvidia/library.h"

namespace genscope::probe::nvml {

inline constexpr std::size_t kStrideV1 = sizeof(ProcessInfoV1);
inline constexpr std::size_t kStrideV2 = sizeof(ProcessInfoV2);
inline constexpr std::size_t kStrideEarly535 = sizeof(ProcessInfoEarly535);
inline constexpr unsigned char kPoison = 0xAA;

// 24 or 32 if `count` entries of that size explain which bytes of the poisoned buffer changed;
// 0 if neither does.
std::size_t stride_of(std::span<const unsigned char> buffer, std::size_t count) noexcept;

class ProcessLists {
 public:
  static constexpr std::size_t kFirstEntries = 64;
  static constexpr std::size_t kMaxEntries = 4096;
  static constexpr int kTries = 3;

  struct Process {
    std::uint32_t pid = 0;
    std::uint32_t gpu_instance = kAllOnes32, compute_instance = kAllOnes32;
    std::uint64_t bytes = kAllOnes64;  // all ones: unknown
    std::uint32_t use_percent = kAllOnes32;
  };

  // Takes all the memory it will ever need. `ask_use`: a MIG instance has no use to tell.
  void open(const Api& api, std::uint32_t pid_max, bool ask_use);
  // Talks to the driver. The code of the lists: success if any list could be read.
  Return fetch(DeviceHandle device) noexcept;
  // Of the last fetch, one row a process, the largest first. Reads names from `proc_root`.
  std::span<const ProcessRow> rows(const char* proc_root, base::Files& files) noexcept;

  // Memory of those rows() that are `root` or, if asked, its descendants. Unknown where the driver
  // does not tell it of one of them, or names processes that we cannot see and none that we watch:
  // in a container these may be ours under other numbers.
  Reading tree_memory(std::uint32_t root, bool descendants, const char* proc_root,
                      base::Files& files) const noexcept;

  std::span<const Process> processes() const noexcept { return {merged_.data(), merged_.size()}; }

 private:
  Return fetch_list(DeviceHandle device, std::size_t list) noexcept;
  Return fetch_version(DeviceHandle device, ProcessCall call, std::size_t list,
                       std::size_t& count) noexcept;
  Return take(std::size_t count) noexcept;
  bool learn_stride(std::size_t count) noexcept;
  void merge() noexcept;
  void fetch_use(DeviceHandle device) noexcept;

  const Api* api_ = nullptr;
  std::uint32_t pid_max_ = 0;
  int version_[3] = {3, 3, 3};  // of each list; 0: the device has none such
  std::size_t stride_v3_ = 0;   // 0: not known yet
  std::size_t entries_ = kFirstEntries;
  std::unique_ptr<unsigned char[]> buffer_;  // kMaxEntries of the largest stride
  std::vector<Process> merged_;              // capacity for all three lists
  std::vector<ProcessRow> rows_;

  enum class Use : std::uint8_t { none, unknown, known } use_ = Use::none;
  Return use_code_ = kSuccess;
  std::uint64_t last_seen_us_ = 0;
  std::vector<ProcessUtilizationSample> samples_;
};

}  // namespace genscope::probe::nvml

// Memory in use on one GPU, as its driver says: a probe that is asked for nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <genscope/probe.h>

#include "monitor/memory/gpu_board.h"

namespace genscope::compat::training {

// Any thread: probes are for one at a time, so readings take turns.
class DeviceMemory {
 public:
  // Looks for GPU `device`; loads the drivers' libraries. reason() says if there is none.
  explicit DeviceMemory(int device);
  ~DeviceMemory();

  bool found() const noexcept { return probe_ != nullptr; }
  const std::string& reason() const noexcept { return reason_; }
  std::optional<std::uint64_t> used_bytes() noexcept;

 private:
  std::mutex mutex_;
  monitor::GpuBoard board_;
  std::size_t place_ = 0;  // of the device on the board
  std::unique_ptr<Probe> probe_;
  std::string reason_;
};

}  // namespace genscope::compat::training

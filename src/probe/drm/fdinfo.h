// One /proc/PID/fdinfo/FD of a DRM file: what one client of one GPU holds and used.
// Keys as in the kernel's "DRM client usage stats", with the names of amdgpu, i915 and xe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace genscope::probe::drm {

enum EngineClass : std::size_t { kRender, kCompute };  // where models run; copy and video do not
inline constexpr std::size_t kEngineClasses = 2;

struct Fdinfo {
  std::string_view driver;  // views into the text
  std::string_view pdev;    // PCI address; empty on what is not PCI
  std::optional<std::uint64_t> client_id;

  // Time in which an engine of the class was busy with this client's work: in nanoseconds, or (xe)
  // in cycles of a clock whose total is given. Engines of a class count together.
  struct Engine {
    std::optional<std::uint64_t> busy_ns;
    std::optional<std::uint64_t> cycles;
    std::optional<std::uint64_t> total_cycles;
    std::uint64_t capacity = 1;
  };
  Engine engines[kEngineClasses];

  // Bytes, by the best key that the driver has: resident, else memory (its old name), else total.
  std::optional<std::uint64_t> local_bytes;   // VRAM
  std::optional<std::uint64_t> shared_bytes;  // system memory mapped for the GPU
};

// False if no key starts with "drm-": not a DRM file, or a kernel without these keys. Lines that
// make no sense are skipped.
bool parse_fdinfo(std::string_view text, Fdinfo& info) noexcept;

}  // namespace genscope::probe::drm

// /proc/PID/stat, parsed by hand and without allocation.
#pragma once

#include <cstdint>
#include <string_view>

namespace genscope::base {

// Of /proc/PID/stat, what we use. Ticks are those of sysconf(_SC_CLK_TCK).
struct ProcessStat {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::string_view name;  // within the text
  char state = '?';
  std::uint64_t minor_faults = 0, reaped_minor_faults = 0;
  std::uint64_t major_faults = 0, reaped_major_faults = 0;
  std::uint64_t cpu_ticks = 0, reaped_cpu_ticks = 0;  // user and system
  std::uint64_t threads = 0;
  std::uint64_t start = 0;  // ticks after boot; with the pid the identity
  std::uint64_t resident_pages = 0;
};
// Takes any bytes; false: the text is not what it should be, and `stat` is not to be used.
bool parse_stat(std::string_view text, ProcessStat& stat) noexcept;

}  // namespace genscope::base

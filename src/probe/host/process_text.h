// The texts of /proc/PID/*, parsed by hand. Every function takes any bytes; false means that the
// text is not what it should be, and then the result is not to be used.
#pragma once

#include <cstdint>
#include <string_view>

namespace genscope::probe {

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
};
bool parse_stat(std::string_view text, ProcessStat& stat) noexcept;

// Of /proc/PID/statm, in pages.
struct ProcessMemory {
  std::uint64_t size = 0;  // 0: no address space, a zombie or a kernel thread
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;  // of resident: what a file or shared memory backs
};
bool parse_statm(std::string_view text, ProcessMemory& memory) noexcept;

// Of /proc/PID/io: what went to and came from storage.
struct ProcessIo {
  std::uint64_t read_bytes = 0, write_bytes = 0;
};
bool parse_io(std::string_view text, ProcessIo& io) noexcept;

// Of /proc/PID/task/TID/schedstat: time on a CPU, and time in which it could have run and had none.
struct SchedStat {
  std::uint64_t ran_ns = 0, waited_ns = 0;
};
bool parse_schedstat(std::string_view text, SchedStat& stat) noexcept;

// The number behind `key` at the start of a line: "VmSwap:\t   12 kB" gives 12, whatever the unit.
bool find_number(std::string_view text, std::string_view key, std::uint64_t& value) noexcept;

}  // namespace genscope::probe

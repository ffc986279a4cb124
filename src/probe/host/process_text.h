// The texts of /proc/PID/*, parsed by hand. Every function takes any bytes; false means that the
// text is not what it should be, and then the result is not to be used.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/process_stat.h"

namespace genscope::probe {

using base::parse_stat;
using base::ProcessStat;

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

// The texts of /proc that speak of the whole machine. Every function takes any bytes; false means
// that the text is not what it should be.
#pragma once

#include <cstdint>
#include <string_view>

namespace genscope::probe {

// The "cpu" line of /proc/stat, in ticks over all CPUs. Guest time is within user and nice.
struct CpuTicks {
  std::uint64_t user = 0;    // with nice
  std::uint64_t system = 0;  // with interrupts
  std::uint64_t idle = 0;
  std::uint64_t iowait = 0;
  std::uint64_t steal = 0;
};
bool parse_cpu_line(std::string_view text, CpuTicks& ticks) noexcept;

// Shares of the time between two readings; false if no time passed.
struct CpuShares {
  double busy = 0, user = 0, system = 0, iowait = 0, steal = 0;
};
bool cpu_shares(const CpuTicks& before, const CpuTicks& now, CpuShares& shares) noexcept;

// A file of /proc/pressure or *.pressure of a cgroup: total stall times. `full` is not in every
// file; then has_full is false.
struct Pressure {
  std::int64_t some_ns = 0;
  std::int64_t full_ns = 0;
  bool has_full = false;
};
bool parse_pressure(std::string_view text, Pressure& pressure) noexcept;

// One line of /proc/diskstats or /proc/net/dev; in bytes.
struct DeviceLine {
  std::string_view name;
  std::uint64_t in_bytes = 0;   // read, received
  std::uint64_t out_bytes = 0;  // written, sent
};
bool parse_disk_line(std::string_view line, DeviceLine& device) noexcept;
bool parse_net_line(std::string_view line, DeviceLine& device) noexcept;

// Whether a block device by this name is a disk proper: not a partition, and not one that only
// passes on to others or to memory (dm, md, loop, ram, zram, bcache, drbd, a path of a multipath).
// For sdX, hdX, vdX, xvdX, nvme, mmcblk and nbd partitions are known by name; sysfs knows the rest.
bool is_stacked_disk(std::string_view name) noexcept;
bool is_partition_name(std::string_view name) noexcept;

// CPUs in a list such as "0-3,8,10-11"; 0 if it is none.
std::uint32_t count_cpus(std::string_view list) noexcept;

// What follows "key<blanks>:" in /proc/cpuinfo, trimmed; empty if there is none.
std::string_view find_text(std::string_view text, std::string_view key) noexcept;

}  // namespace genscope::probe

// Texts of /proc and cgroups: the first byte picks the parser, the rest is the file.
#include "input.h"
#include "probe/host/cgroup_text.h"
#include "probe/host/process_text.h"
#include "probe/host/system_text.h"

namespace {

using namespace genscope::probe;

#define GENSCOPE_PROC_CHECK(condition) \
  do {                                 \
    if (!(condition)) std::abort();    \
  } while (false)

bool within(std::string_view part, std::string_view text) {
  return part.empty() ||
         (part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size());
}

void process(std::uint8_t which, std::string_view text) {
  ProcessStat stat;
  ProcessMemory memory;
  ProcessIo io;
  std::uint64_t number = 0;
  if (which == 0 && parse_stat(text, stat)) GENSCOPE_PROC_CHECK(within(stat.name, text));
  if (which == 1 && parse_statm(text, memory)) {
    GENSCOPE_PROC_CHECK(memory.shared <= memory.resident);
  }
  if (which == 2) parse_io(text, io);
  if (which == 3) find_number(text, "VmSwap:", number);
}

void machine(std::uint8_t which, std::string_view text) {
  if (which == 4) {
    CpuTicks before, now;
    CpuShares shares;
    const std::size_t half = text.size() / 2;
    if (parse_cpu_line(text.substr(0, half), before) && parse_cpu_line(text.substr(half), now) &&
        cpu_shares(before, now, shares)) {
      for (const double share : {shares.busy, shares.user, shares.system, shares.iowait}) {
        GENSCOPE_PROC_CHECK(share >= 0 && share <= 1);
      }
    }
  }
  Pressure pressure;
  if (which == 5 && parse_pressure(text, pressure)) GENSCOPE_PROC_CHECK(pressure.some_ns >= 0);
  DeviceLine line;
  if (which == 6 && parse_disk_line(text, line)) GENSCOPE_PROC_CHECK(within(line.name, text));
  if (which == 7 && parse_net_line(text, line)) GENSCOPE_PROC_CHECK(within(line.name, text));
  if (which == 8) GENSCOPE_PROC_CHECK(count_cpus(text) <= 1u << 20);
  if (which == 9) GENSCOPE_PROC_CHECK(within(find_text(text, "model name"), text));
  if (which == 10) {
    is_stacked_disk(text);
    is_partition_name(text);
  }
}

void cgroup(std::uint8_t which, std::string_view text) {
  if (which == 11) {  // the cgroup file and mountinfo, a NUL between them
    const std::size_t cut = std::min(text.find('\0'), text.size());
    const CgroupPlaces places =
        find_cgroups(text.substr(0, cut), text.substr(std::min(cut + 1, text.size())), "/sys");
    for (const auto* const place : {&places.memory, &places.cpu, &places.unified}) {
      if (*place) GENSCOPE_PROC_CHECK((*place)->folder.starts_with((*place)->mount));
    }
  }
  double cores = 0;
  if (which == 12 && parse_cpu_max(text, cores)) GENSCOPE_PROC_CHECK(cores >= 0);
  MemoryLimit limit;
  if (which == 13 && parse_memory_limit(text, limit)) GENSCOPE_PROC_CHECK(limit.bytes >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // 'a' is the first parser, so that seeds can be written by hand.
  const std::uint8_t which = data[0] >= 'a' ? static_cast<std::uint8_t>((data[0] - 'a') % 14)
                                            : static_cast<std::uint8_t>(data[0] % 14);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  process(which, text);
  machine(which, text);
  cgroup(which, text);
  return 0;
}

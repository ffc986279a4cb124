#include "probe/host/main_threads.h"

#include <algorithm>
#include <cerrno>

namespace genscope::probe {

void MainThreads::read(std::span<const TreeMember> members, std::int64_t tick_ns,
                       ProcessFiles& files) noexcept {
  error_ = 0;
  for (const TreeMember& member : members) {
    if (member.own[kCpuNs] < highest_ns_ + tick_ns) continue;
    char buffer[1024];
    std::string_view text;
    ProcessStat stat;
    const int error =
        files.read_path(files.task_path(member.pid, member.pid, "stat"), buffer, text);
    if (error == ESRCH || error == ENOENT) continue;  // it ended
    if (error != 0 || !parse_stat(text, stat)) {
      error_ = error != 0 ? error : EINVAL;
      continue;
    }
    // Its process cannot have used less, whatever the file says.
    const auto most = static_cast<std::uint64_t>(member.own[kCpuNs] / tick_ns);
    const auto ticks = static_cast<std::int64_t>(std::min(stat.cpu_ticks, most));
    highest_ns_ = std::max(highest_ns_, ticks * tick_ns);
  }
}

}  // namespace genscope::probe

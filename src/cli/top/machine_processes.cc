#include "cli/top/machine_processes.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/clock.h"
#include "base/file.h"
#include "base/process_stat.h"

namespace genscope::cli::top {
namespace {

constexpr std::uint32_t kKernelThreads = 2;  // their parent
constexpr std::size_t kMaxStat = 4096;

// From the text of a stat file; false if it is none.
bool fill_row(std::string_view text, ProcessRow& row) {
  base::ProcessStat stat;
  if (!base::parse_stat(text, stat)) return false;
  stat.name.copy(row.name, sizeof row.name - 1);
  row.parent = stat.parent;
  row.start = stat.start;
  const auto tick_ns = 1e9 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const std::int64_t now = base::monotonic_ns();
  row.cpu_ns = {static_cast<double>(stat.cpu_ticks) * tick_ns, SampleStatus::ok, nullptr, now};
  row.rss_bytes = {
      static_cast<double>(stat.resident_pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)),
      SampleStatus::ok, nullptr, now};
  return true;
}

}  // namespace

std::vector<ProcessRow> machine_processes(const std::string& proc_root) {
  std::vector<ProcessRow> rows;
  std::error_code error;
  for (std::filesystem::directory_iterator it(proc_root, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    ProcessRow row;
    const auto [last, bad] = std::from_chars(name.data(), name.data() + name.size(), row.pid);
    if (bad != std::errc() || last != name.data() + name.size()) continue;
    const Result<std::string> text = base::read_file(it->path().string() + "/stat", kMaxStat);
    if (!text || !fill_row(*text, row)) continue;
    if (row.pid == kKernelThreads || row.parent == kKernelThreads) continue;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace genscope::cli::top

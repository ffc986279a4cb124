#include "cli/top/machine_processes.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "base/clock.h"
#include "base/file.h"

namespace genscope::cli::top {
namespace {

constexpr std::uint32_t kKernelThreads = 2;  // their parent
constexpr std::size_t kMaxStat = 4096;

// From the text of a stat file; false if it is none. Field 2 is the name in brackets, which may
// hold anything; the fields after it are numbers but for the state.
bool fill_row(std::string_view text, ProcessRow& row) {
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return false;
  const std::string_view name = text.substr(open + 1, close - open - 1);
  std::copy_n(name.begin(), std::min(name.size(), sizeof(row.name) - 1), row.name);
  std::istringstream rest{std::string(text.substr(close + 1))};
  std::string state;
  rest >> state >> row.parent;
  std::int64_t skipped = 0, user = 0, system = 0, pages = 0;
  for (int field = 5; field <= 13; ++field) rest >> skipped;
  rest >> user >> system;
  for (int field = 16; field <= 21; ++field) rest >> skipped;
  rest >> row.start >> skipped >> pages;
  if (!rest) return false;
  const auto tick_ns = 1e9 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const std::int64_t now = base::monotonic_ns();
  row.cpu_ns = {static_cast<double>(user + system) * tick_ns, SampleStatus::ok, nullptr, now};
  row.rss_bytes = {static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)),
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

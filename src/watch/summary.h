// The summary of a run: the figures, and the text for people.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>
#include <vector>

#include <genscope/analyze.h>

#include "watch/cells.h"
#include "watch/orphans.h"

namespace genscope::watch {

// How the command ended, as the kernel says.
struct Ending {
  int exit_code = 0;
  double wall_seconds = 0;
  rusage usage{};  // of it and the descendants that it waited for
  // Our own peak when it was started. The kernel counts it as the command's, too: usage.ru_maxrss
  // means something only above it.
  long own_maxrss_kib = 0;
  std::optional<std::int64_t> max_rss_bytes() const {
    if (usage.ru_maxrss <= own_maxrss_kib) return std::nullopt;
    return std::int64_t{usage.ru_maxrss} * 1024;
  }
  std::int64_t cpu_ns() const {
    const auto ns = [](const timeval& t) {
      return std::int64_t{t.tv_sec} * 1'000'000'000 + std::int64_t{t.tv_usec} * 1000;
    };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
  }
  // How long its main thread waited for a CPU; absent where the kernel does not count it.
  std::optional<std::int64_t> cpu_wait_ns;
  std::vector<std::string> last_words;  // on stderr, if it did not end well
  std::uint64_t orphans_reaped = 0;
  std::vector<Descendant> left;  // some of those that still run
  std::size_t left_count = 0;
};

// "1 still runs: 42 sleep", "3 still run: 42 server, ..."; "" if none does. Printable.
std::string left_text(const Ending& ending);

// Of a run that could not be recorded: how it ended, and what the kernel said then.
std::string unrecorded_text(const Ending& ending);

// The figures are those of the reports: of the Analysis of the run that was just written. Without
// one (null: nothing could be recorded, or read back) there is what the kernel says. What is not
// known is "n/a". `command` as one line; `no_gpu`: why there is none, or "".
std::string summary_text(const Analysis* analysis, const Ending& ending, const std::string& command,
                         const std::string& no_gpu, const Look& look);

}  // namespace genscope::watch

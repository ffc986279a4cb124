#include "serve/run_list_text.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

#include "base/figures.h"
#include "base/printable.h"
#include "report/table.h"

namespace genscope::serve {
namespace {

// "2026-11-15 21:56", as the names of runs have it: local time.
std::string local_minute(std::int64_t unix_ns) {
  if (unix_ns == 0) return "-";
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return "-";
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local);
  return text.data();
}

}  // namespace

std::string runs_text(const std::vector<RunEntry>& runs,
                      const std::map<std::string, RunFigures>& figures, std::size_t width,
                      bool color) {
  report::Table table({{"name", true, 0},
                       {"when", true, 3},
                       {"took", false, 0},
                       {"state", true, 0},
                       {"most time", true, 4},
                       {"findings", false, 2},
                       {"tags", true, 1},
                       {"size", false, 5}});
  for (const RunEntry& run : runs) {
    const auto known = figures.find(run.id);
    const RunFigures* const f = known == figures.end() ? nullptr : &known->second;
    std::string tags;
    for (const std::string& tag : run.tags)
      tags += (tags.empty() ? "" : ",") + base::printable(tag);
    std::optional<std::int64_t> wall = run.wall_ns;
    if (f != nullptr && f->wall_ns > 0) wall = f->wall_ns;
    constexpr std::size_t kStage = 24;
    table.add({base::printable(run.id), local_minute(run.started_unix_ns),
               wall ? base::duration(*wall) : "-", ending_text(run.ending),
               f == nullptr || f->stages.empty()
                   ? "-"
                   : base::shorten(base::printable(f->stages.front()), kStage),
               f == nullptr ? "-" : base::count(f->findings), tags.empty() ? "-" : tags,
               base::bytes(run.bytes)});
  }
  return table.render(width, color);
}

}  // namespace genscope::serve

// Of each stretch between two readings of CPU time (a tenth of a second, usually) the CPUs used. A
// pause is two stretches or more in a row with under a quarter of what is usual; a single one may
// be a reading that came late. The begin and the end of a run are none: it starts and leaves.
#include "analyze/resources/pauses.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/statistics/alike.h"
#include "analyze/statistics/statistics.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

constexpr std::size_t kFewestStretches = 30, kFewestPauses = 4;
constexpr double kUsualCores = 0.5, kPaused = 0.25;

struct RateStretch {
  Interval time;
  double cores = 0;
};

std::vector<RateStretch> rates_between(const Points& cpu_ns) {
  std::vector<RateStretch> all;
  for (std::size_t i = 1; i < cpu_ns.at_ns.size(); ++i) {
    const Interval time{cpu_ns.at_ns[i - 1], cpu_ns.at_ns[i]};
    const double growth = cpu_ns.value[i] - cpu_ns.value[i - 1];
    if (time.end <= time.begin || growth < 0) continue;
    all.push_back({time, growth / static_cast<double>(time.length())});
  }
  return all;
}

}  // namespace

std::optional<Pauses> find_pauses(const Points& cpu_ns) {
  const std::vector<RateStretch> all = rates_between(cpu_ns);
  if (all.size() < kFewestStretches) return std::nullopt;
  std::vector<double> cores;
  for (const RateStretch& one : all) cores.push_back(one.cores);
  const std::optional<double> usual = stats::quantile(cores, 0.5);
  if (!usual || *usual < kUsualCores) return std::nullopt;
  std::vector<double> begins, lengths;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end].cores < kPaused * *usual) ++end;
    if (end - i >= 2 && i > 0 && end < all.size()) {
      begins.push_back(seconds(subtract(all[i].time.begin, all[0].time.begin)));
      lengths.push_back(seconds(subtract(all[end - 1].time.end, all[i].time.begin)));
    }
    i = std::max(end, i + 1);
  }
  Pauses pauses;
  pauses.count = begins.size();
  const double whole = seconds(subtract(all.back().time.end, all.front().time.begin));
  for (const double length : lengths) pauses.share += length / whole;
  pauses.share = std::min(pauses.share, 1.0);
  pauses.typical_seconds = stats::quantile(lengths, 0.5).value_or(0);
  if (begins.size() < kFewestPauses) return pauses;
  std::vector<double> distances;
  for (std::size_t i = 1; i < begins.size(); ++i) distances.push_back(begins[i] - begins[i - 1]);
  if (are_alike(distances)) pauses.every_seconds = stats::quantile(distances, 0.5);
  return pauses;
}

}  // namespace genscope::analysis

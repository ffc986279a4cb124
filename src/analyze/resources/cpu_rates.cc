#include "analyze/resources/cpu_rates.h"

#include <algorithm>

#include "analyze/time.h"

namespace genscope::analysis {
namespace {

constexpr double kLongestStretch = 10;  // times the usual
constexpr double kShortestStretch = 0.25;

struct CpuStretch {
  std::int64_t begin = 0, end = 0;
  double growth = 0;  // ns of CPU time
  double length() const noexcept { return static_cast<double>(end) - static_cast<double>(begin); }
  double cores() const noexcept { return growth / length(); }
};

void push(CpuRates& rates, const CpuStretch& stretch, double cores) {
  const std::int64_t length = subtract(stretch.end, stretch.begin);
  rates.middle.at_ns.push_back(stretch.begin + length / 2);
  rates.middle.value.push_back(cores);
  rates.length_ns.push_back(length);
}

std::vector<CpuStretch> stretches_of(const Points& counter) {
  std::vector<CpuStretch> out;
  const double longest = static_cast<double>(usual_distance(counter.at_ns)) * kLongestStretch;
  for (std::size_t i = 1; i < counter.at_ns.size(); ++i) {
    const CpuStretch next{counter.at_ns[i - 1], counter.at_ns[i],
                          counter.value[i] - counter.value[i - 1]};
    if (next.length() <= 0 && next.growth > 0 && !out.empty()) out.back().growth += next.growth;
    if (next.length() <= 0 || next.growth < 0 || next.length() > longest) continue;
    out.push_back(next);
  }
  return out;
}

}  // namespace

CpuRates cpu_rates(const Points& counter, std::optional<double> cpus) {
  const double shortest = static_cast<double>(usual_distance(counter.at_ns)) * kShortestStretch;
  std::vector<CpuStretch> joined;
  for (const CpuStretch& next : stretches_of(counter)) {
    joined.push_back(next);
    while (joined.size() > 1) {
      CpuStretch& last = joined.back();
      CpuStretch& before = joined[joined.size() - 2];
      const bool wrong = last.length() < shortest || (cpus && last.cores() > *cpus);
      if (!wrong || before.end != last.begin) break;
      before.end = last.end;
      before.growth += last.growth;
      joined.pop_back();
    }
  }
  CpuRates rates;
  for (const CpuStretch& stretch : joined) {
    push(rates, stretch, cpus ? std::min(stretch.cores(), *cpus) : stretch.cores());
  }
  return rates;
}

CpuRates sum_of(const std::vector<CpuRates>& trees, std::optional<double> cpus) {
  if (trees.size() == 1) return trees.front();
  struct Edge {
    std::int64_t at;
    double cores;  // more, or less, from here on
    int stretches;
  };
  std::vector<Edge> edges;
  for (const CpuRates& tree : trees) {
    for (std::size_t i = 0; i < tree.length_ns.size(); ++i) {
      const std::int64_t begin = tree.middle.at_ns[i] - tree.length_ns[i] / 2;
      edges.push_back({begin, tree.middle.value[i], 1});
      edges.push_back({add(begin, tree.length_ns[i]), -tree.middle.value[i], -1});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  CpuRates sum;
  double cores = 0;
  int open = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    cores += edges[i].cores;
    open += edges[i].stretches;
    if (open == 0) cores = 0;  // no rounding is carried along
    if (open == 0 || i + 1 == edges.size() || edges[i + 1].at == edges[i].at) continue;
    const double most = std::max(cores, 0.0);
    push(sum, {edges[i].at, edges[i + 1].at, 0}, cpus ? std::min(most, *cpus) : most);
  }
  return sum;
}

}  // namespace genscope::analysis

// Greedy: again and again the row that covers most pairs not yet covered, until all are. Greedy
// set cover is within a factor ln(pairs) of the least number, and near it in practice. A row's gain
// only falls, so that a row whose old gain is below the best so far need not be counted again
// ("lazy greedy"): about n log n counts instead of n for each choice.
#include "bench/suite/pairwise.h"

#include <map>
#include <queue>
#include <random>
#include <string_view>
#include <tuple>

namespace genscope::bench {
namespace {

// Rows as numbers: the value's place on its axis.
std::vector<std::vector<std::uint32_t>> numbered(const std::vector<const Params*>& rows) {
  std::vector<std::map<std::string_view, std::uint32_t>> known;
  std::vector<std::vector<std::uint32_t>> out;
  for (const Params* row : rows) {
    known.resize(row->size());
    std::vector<std::uint32_t>& values = out.emplace_back();
    for (std::size_t a = 0; a < row->size(); ++a) {
      const auto next = static_cast<std::uint32_t>(known[a].size());
      values.push_back(known[a].emplace((*row)[a].second, next).first->second);
    }
  }
  return out;
}

using Pair = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

}  // namespace

std::vector<std::size_t> pairwise(const std::vector<const Params*>& rows, std::uint64_t seed) {
  const auto values = numbered(rows);
  std::map<Pair, bool> covered;
  const auto each_pair = [&](std::size_t row, const auto& take) {
    for (std::uint32_t a = 0; a < values[row].size(); ++a) {
      // One axis alone pairs with itself, so that each of its values is chosen.
      for (std::uint32_t b = values[row].size() == 1 ? a : a + 1; b < values[row].size(); ++b) {
        take(covered[{a, values[row][a], b, values[row][b]}]);
      }
    }
  };
  const auto gain = [&](std::size_t row) {
    std::size_t fresh = 0;
    each_pair(row, [&](bool& is_covered) { fresh += is_covered ? 0 : 1; });
    return fresh;
  };
  std::mt19937_64 random(seed);
  std::priority_queue<std::tuple<std::size_t, std::uint64_t, std::size_t>> by_gain;
  for (std::size_t row = 0; row < rows.size(); ++row) by_gain.emplace(gain(row), random(), row);
  std::vector<std::size_t> chosen;
  while (!by_gain.empty()) {
    const auto [old_gain, tie, row] = by_gain.top();
    by_gain.pop();
    const std::size_t now = gain(row);
    if (now == 0) continue;
    if (now < old_gain) {
      by_gain.emplace(now, tie, row);
      continue;
    }
    each_pair(row, [](bool& is_covered) { is_covered = true; });
    chosen.push_back(row);
  }
  if (chosen.empty() && !rows.empty()) chosen.push_back(0);  // no axes: the one cell
  return chosen;
}

}  // namespace genscope::bench

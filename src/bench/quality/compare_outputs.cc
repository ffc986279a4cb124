// Pairs what both sides made of the same prompt and seed, and compares each pair.
//
// The n-th output of a key on one side goes with the n-th on the other. Where a side made a key
// twice, those two are compared as well: a pipeline that does not repeat itself differs from
// itself, and then a difference between the sides proves little.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "bench/quality/pair.h"

namespace genscope::bench {
namespace {

using OutputKey = std::tuple<std::string, std::string, std::optional<std::int64_t>>;
using OutputsByKey = std::map<OutputKey, std::vector<const Output*>>;

// A key's first ones say it all; the rest would only repeat them.
constexpr std::size_t kPairsPerKey = 2;

OutputsByKey by_key(std::span<const Output> outputs) {
  OutputsByKey keys;
  for (const Output& output : outputs) {
    keys[{output.cell, output.prompt, output.seed}].push_back(&output);
  }
  return keys;
}

void compare_with_itself(const std::vector<const Output*>& outputs, OwnDifference& own) {
  if (outputs.size() < 2 || outputs[0]->path == outputs[1]->path) return;
  QualityPair pair;
  compare_files(outputs[0]->path, outputs[1]->path, pair);
  if (!pair.absent.empty()) return;
  const bool equal = pair.same_bytes || !pair.ssim;
  ++own.compared;
  own.differ += pair.same_bytes ? 0 : 1;
  own.ssim_sum += equal ? 1 : *pair.ssim;
}

}  // namespace

std::vector<Output> outputs_of(const Cell& cell, char slot) {
  std::vector<Output> found;
  for (const Unit& unit : cell.units) {
    if (unit.slot != slot) continue;
    for (const Sample& sample : unit.samples) {
      if (sample.failure) continue;
      for (std::size_t i = 0; i < sample.outputs.size(); ++i) {
        // Several files of one run stay apart by their number.
        std::string cell_id = i == 0 ? cell.id : fmt::format("{}#{}", cell.id, i);
        found.push_back({std::move(cell_id), sample.prompt, sample.seed, sample.outputs[i]});
      }
    }
  }
  return found;
}

QualityResult compare_outputs(std::span<const Output> before, std::span<const Output> after,
                              const QualityOptions& options) {
  QualityResult result;
  OwnDifference own;
  const OutputsByKey first = by_key(before), second = by_key(after);
  std::string metric_failed;
  for (const auto& [key, mine] : first) {
    const auto theirs = second.find(key);
    if (theirs == second.end()) continue;
    compare_with_itself(mine, own);
    const std::size_t pairs = std::min({mine.size(), theirs->second.size(), kPairsPerKey});
    for (std::size_t i = 0; i < pairs; ++i) {
      QualityPair pair;
      std::tie(pair.cell, pair.prompt, pair.seed) = key;
      compare_files(mine[i]->path, theirs->second[i]->path, pair);
      if (!options.command.empty() && metric_failed.empty() && pair.after.empty()) {
        metric_failed = run_user_metric(options, mine[i]->path, theirs->second[i]->path, pair);
        // It read both, or it would not have answered.
        if (metric_failed.empty()) pair.absent.clear();
      }
      result.pairs.push_back(std::move(pair));
    }
  }
  judge_quality(options, own, result);
  if (!metric_failed.empty() && result.verdict != "lower_quality") {
    result.verdict = "not_compared";
    result.reason = metric_failed;
  }
  return result;
}

QualityResult compare_outputs(std::span<const Cell> cells, const QualityOptions& options) {
  std::vector<Output> before, after;
  for (const Cell& cell : cells) {
    for (const char slot : {'A', 'B'}) {
      std::vector<Output> found = outputs_of(cell, slot);
      std::vector<Output>& side = slot == 'A' ? before : after;
      side.insert(side.end(), found.begin(), found.end());
    }
  }
  return compare_outputs(before, after, options);
}

}  // namespace genscope::bench

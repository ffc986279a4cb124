// bench_optimize_cache_fresh [--only SORT] [SEED...]: hit ratios on streams that nobody has tuned
// on. A seed draws the parameters of a stream of each sort (popularity, scans, loops, bursts, ...),
// its keys, and three sizes of the cache; without one, seeds 1 to 3. The yardsticks run on the same
// keys: LRU, ARC, SIEVE, S3-FIFO, W-TinyLFU and W-TinyLFU with a climber (yardsticks.h).
//
// A cell keeps its bar if it is at most 0.5 points below W-TinyLFU with a climber and at most 4
// below the best; the mean of what is lost to the best is to be 1.5 points at most.
#include <genscope/optimize/cache.h>

#include <cstdio>
#include <cstdlib>

#include "cache_streams.h"
#include "harness/measure.h"
#include "harness/table.h"
#include "yardsticks.h"

namespace {

using genscope::optimize::Cache;
using genscope::optimize::Key;
using genscope::optimize::KeyBuilder;
using genscope::optimize::Value;

constexpr const char* kSorts[bench::StreamMaker::kSorts] = {
    "zipf",   "zipf and scans",  "one-shots", "zipf and loops", "drift",
    "bursts", "phases of loops", "repeats",   "recency",        "mixed with a loop"};

class OurModel {
 public:
  explicit OurModel(std::size_t capacity) : cache_({.capacity_bytes = capacity}) {}
  bool ask(std::uint32_t key_number) {
    const Key key = KeyBuilder("k").add(key_number).build();
    if (cache_.get(key)) return true;
    cache_.put(key, one_);
    return false;
  }

 private:
  Cache cache_;
  Value one_ = Value::adopt(nullptr, 1, nullptr);
};

// The same stream with keys from 0 on, so that arrays of the yardsticks are no longer than needed.
bench::Keys counted(const bench::Keys& keys) {
  std::vector<std::uint32_t> numbers(*std::max_element(keys.begin(), keys.end()) + 1, 0);
  std::uint32_t count = 0;
  bench::Keys made;
  made.reserve(keys.size());
  for (const std::uint32_t key : keys) {
    if (numbers[key] == 0) numbers[key] = ++count;
    made.push_back(numbers[key] - 1);
  }
  return made;
}

struct Losses {
  double sum = 0, worst = 0, worst_to_climber = 0;
  int cells = 0, below = 0;
};

void judge(bench::Table& table, Losses& losses, const std::string& name, std::size_t capacity,
           const bench::Keys& keys) {
  const std::size_t count = *std::max_element(keys.begin(), keys.end()) + 1;
  const double ours = bench::model_hit_ratio(OurModel(capacity), keys);
  const double climber = bench::model_hit_ratio(bench::TinyLfuModel(capacity, count, true), keys);
  const struct {
    const char* name;
    double ratio;
  } others[] = {
      {"climber", climber},
      {"fixed window", bench::model_hit_ratio(bench::TinyLfuModel(capacity, count, false), keys)},
      {"LRU", bench::model_hit_ratio(bench::LruModel(capacity, count), keys)},
      {"ARC", bench::model_hit_ratio(bench::ArcModel(capacity, count), keys)},
      {"SIEVE", bench::model_hit_ratio(bench::SieveModel(capacity, count), keys)},
      {"S3-FIFO", bench::model_hit_ratio(bench::S3FifoModel(capacity, count), keys)},
  };
  const auto* best = std::max_element(std::begin(others), std::end(others),
                                      [](auto& a, auto& b) { return a.ratio < b.ratio; });
  const double lost = std::max(0.0, best->ratio - ours);
  losses.sum += lost;
  losses.worst = std::max(losses.worst, lost);
  losses.worst_to_climber = std::max(losses.worst_to_climber, climber - ours);
  ++losses.cells;
  const bool kept = ours >= climber - 0.005 && lost <= 0.04;
  losses.below += kept ? 0 : 1;
  char note[96], bar[32];
  std::snprintf(bar, sizeof bar, ">= %.1f", 100 * std::max(climber - 0.005, best->ratio - 0.04));
  std::snprintf(note, sizeof note, "climber %.1f, best %.1f (%s)", 100 * climber, 100 * best->ratio,
                best->name);
  table.add({.name = name,
             .value = 100 * ours,
             .unit = "%",
             .ratio_to = {},
             .bar = bar,
             .kept = kept,
             .note = note});
}

void sum_up(bench::Table& table, const Losses& losses) {
  const double mean = losses.sum / losses.cells;
  table.add({.name = "lost to the best, mean",
             .value = 100 * mean,
             .unit = "points",
             .ratio_to = {},
             .bar = "<= 1.5",
             .kept = mean <= 0.015,
             .note = std::to_string(losses.cells) + " cells, " + std::to_string(losses.below) +
                     " below their bar"});
  table.add({.name = "lost to the best, worst",
             .value = 100 * losses.worst,
             .unit = "points",
             .ratio_to = {},
             .bar = "<= 4",
             .kept = losses.worst <= 0.04,
             .note = {}});
  table.add({.name = "lost to the climber, worst",
             .value = 100 * losses.worst_to_climber,
             .unit = "points",
             .ratio_to = {},
             .bar = "<= 0.5",
             .kept = losses.worst_to_climber <= 0.005,
             .note = {}});
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse(argc, argv);
  std::vector<std::uint64_t> seeds;
  for (const std::string& seed : options.rest)
    seeds.push_back(std::strtoull(seed.c_str(), nullptr, 10));
  if (seeds.empty()) seeds = {1, 2, 3};
  bench::Table table;
  Losses losses;
  for (const std::uint64_t seed : seeds) {
    for (std::size_t sort = 0; sort < bench::StreamMaker::kSorts; ++sort) {
      if (!options.only.empty() && options.only != kSorts[sort]) continue;
      bench::SplitMix sizes{seed * 1000 + sort};
      const bench::Keys keys =
          counted(bench::StreamMaker(options.quick ? 200'000 : 2'000'000, sizes.next()).draw(sort));
      for (const double low : {64.0, 600.0, 6'000.0}) {
        const auto capacity = static_cast<std::size_t>(low * std::pow(8, sizes.unit()));
        judge(table, losses,
              std::string(kSorts[sort]) + ", seed " + std::to_string(seed) +
                  ", entries: " + std::to_string(capacity),
              capacity, keys);
      }
    }
  }
  if (losses.cells != 0) sum_up(table, losses);
  return table.finish(options.json) == 0 ? 0 : 1;
}

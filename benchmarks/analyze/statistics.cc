// bench_analyze: CPU time of the shared statistics, median of the repetitions, and the peak of what
// they allocate: the promise is that no figure needs memory quadratic in its samples.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "analyze/statistics/statistics.h"
#include "counted_new.h"
#include "harness/measure.h"
#include "harness/table.h"

namespace {

using namespace bench;
using namespace genscope;

// Long-tailed, like step times; the same in every run.
std::vector<double> durations(std::size_t n, std::uint64_t seed) {
  std::vector<double> values(n);
  for (double& value : values) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    value = 0.02 - 0.004 * std::log(static_cast<double>((seed >> 11) + 1) * 0x1p-53);
  }
  return values;
}

struct Case {
  std::string name;
  int repetitions;
  double items;  // what the time is divided by for the unit
  std::string unit;
  double scale;             // from nanoseconds to the unit
  double bar;               // in the unit; 0: no promise
  double bytes_per_sample;  // allowed peak, 0: no promise
  double samples;
  std::function<double()> body;  // returns a figure, so that it is not left out
};

void run(const Case& c, bool quick, Table& table) {
  std::vector<double> times;
  double figure = c.body();
  const std::size_t before = held_bytes;
  peak_bytes = held_bytes;
  for (int i = 0; i < (quick ? 1 : c.repetitions); ++i) {
    const std::uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    figure = c.body();
    times.push_back(static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - from));
  }
  const auto bytes = static_cast<double>(peak_bytes - before);
  const double value = median(times) / c.items * c.scale;
  char bar[32] = "", note[64] = "";
  if (c.bar > 0) std::snprintf(bar, sizeof bar, "< %g %s", c.bar, c.unit.c_str());
  std::snprintf(note, sizeof note, "= %.6g", figure);
  table.add({c.name, value, c.unit, "", 0, bar, value < c.bar, note});
  if (c.bytes_per_sample <= 0) return;
  const double per_sample = bytes / c.samples;
  std::snprintf(bar, sizeof bar, "< %g", c.bytes_per_sample);
  std::snprintf(note, sizeof note, "%.1f MB", bytes / 1e6);
  table.add({c.name + ": peak memory", per_sample, "B/sample", "", 0, bar,
             per_sample < c.bytes_per_sample, note});
}

double slope_of(std::size_t n) {
  static std::vector<double> x, y;
  if (x.size() != n) {
    y = durations(n, 7);
    x.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<double>(i);
      y[i] += 1e-9 * x[i];
    }
  }
  return stats::trend(x, y)->slope;
}

double shift_of(std::size_t n) {
  static std::vector<double> before, after;
  if (before.size() != n) {
    before = durations(n, 11);
    after = durations(n, 13);
  }
  return stats::shift(before, after)->estimate;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::vector<double> million = durations(1'000'000, 3);
  stats::Histogram histogram, other;
  for (const double value : durations(1'000'000, 5)) other.add(value);

  const std::vector<Case> cases{
      {"quantile of 1e6", 9, 1, "ms", 1e-6, 100, 16, 1e6,
       [&] { return *stats::quantile(million, 0.95); }},
      {"describe 1e6", 5, 1, "ms", 1e-6, 1000, 16, 1e6,
       [&] { return *stats::describe(million).stddev; }},
      {"shift of 50 x 50, exact p", 9, 1, "ms", 1e-6, 100, 0, 0, [] { return shift_of(50); }},
      {"shift of 1000 x 1000", 9, 1, "ms", 1e-6, 20, 64, 2000, [] { return shift_of(1000); }},
      {"shift of 1e5 x 1e5", 3, 1, "ms", 1e-6, 1000, 64, 2e5, [] { return shift_of(100'000); }},
      {"trend of 2000", 9, 1, "ms", 1e-6, 50, 0, 0, [] { return slope_of(2000); }},
      {"trend of 20000", 5, 1, "ms", 1e-6, 500, 0, 0, [] { return slope_of(20'000); }},
      {"trend of 1e6", 3, 1, "s", 1e-9, 20, 160, 1e6, [] { return slope_of(1'000'000); }},
      {"modified z of 1e6", 5, 1, "ms", 1e-6, 0, 32, 1e6,
       [&] { return static_cast<double>(stats::modified_z_outliers(million).size()); }},
      {"hampel of 1e6, window 15", 3, 1, "ms", 1e-6, 0, 32, 1e6,
       [&] { return static_cast<double>(stats::hampel_outliers(million, 7).size()); }},
      {"histogram: add a value", 9, 1e6, "ns", 1, 20, 0, 0,
       [&] {
         for (const double value : million) histogram.add(value);
         return *histogram.quantile(0.95);
       }},
      {"histogram: merge", 9, 1, "us", 1e-3, 0, 0, 0,
       [&] {
         histogram.merge(other);
         return static_cast<double>(histogram.bytes());
       }},
      {"histogram: quantile", 9, 1, "us", 1e-3, 0, 0, 0, [&] { return *histogram.quantile(0.99); }},
  };
  Table table;
  for (const Case& c : cases) {
    if (c.name.find(options.only) != std::string::npos) run(c, options.quick, table);
  }
  table.finish(options.json);
  return 0;
}

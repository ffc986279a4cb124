// Compares the table with a slow, literal reading of its definitions, over random traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include <genscope/analyze.h>

#include "analyze/testing/trace_builder.h"

namespace genscope {
namespace {

using testing::make_run;
using testing::TraceBuilder;

// Nested stack spans on three tracks, one after the other; times small, so instants can be listed.
void grow(TraceBuilder& t, std::mt19937& rng, std::uint32_t track, std::uint32_t parent,
          std::int64_t begin, std::int64_t end, int depth) {
  std::int64_t at = begin;
  while (at < end && depth < 5) {
    const std::int64_t from = at + static_cast<std::int64_t>(rng() % 4);
    const std::int64_t to = from + static_cast<std::int64_t>(rng() % 20);
    if (to > end) return;
    const auto flags = static_cast<std::uint8_t>(rng() % 8 == 0 ? kSpanUnfinished : 0);
    const auto self = t.span("n" + std::to_string(rng() % 5), SpanKind::stage, from, to - from,
                             {.parent = parent, .track = track, .flags = flags});
    grow(t, rng, track, self, from, to, depth + 1);
    at = to;
  }
}

struct Expected {
  std::set<std::tuple<std::uint32_t, std::int64_t>> instants;  // track, ns
  std::int64_t self_ns = 0;
  std::vector<std::int64_t> durations;
};

std::map<std::string, Expected> read_literally(const Trace& trace) {
  std::map<std::string, Expected> rows;
  const SpanColumns& s = trace.spans;
  for (std::size_t i = 0; i < s.size(); ++i) {
    Expected& row = rows[trace.span_name(i)];
    const std::int64_t end = s.begin_ns[i] + s.duration_ns[i];
    for (std::int64_t at = s.begin_ns[i]; at < end; ++at) row.instants.emplace(s.track[i], at);
    row.self_ns += s.duration_ns[i];
    for (std::size_t child = i + 1; child < s.size(); ++child) {
      if (s.parent[child] == i) row.self_ns -= s.duration_ns[child];
    }
    if ((s.flags[i] & kSpanUnfinished) == 0) row.durations.push_back(s.duration_ns[i]);
  }
  return rows;
}

std::int64_t percentile(const std::vector<std::int64_t>& sorted, double p) {
  const double place = std::ceil(p / 100 * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(place, 1.0)) - 1];
}

TEST(Random, TableEqualsItsDefinition) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 rng(seed);
    TraceBuilder t;
    t.track("worker", 2);
    t.track("worker", 3);
    for (std::uint32_t track = 0; track < 3; ++track) grow(t, rng, track, kNone, 0, 300, 0);
    auto expected = read_literally(t.trace());
    const Analysis a = analyze(make_run(t.trace()));
    ASSERT_EQ(a.stages.size(), expected.size());
    for (const StageRow& row : a.stages) {
      Expected& e = expected[row.name];
      std::sort(e.durations.begin(), e.durations.end());
      EXPECT_EQ(row.total_ns, static_cast<std::int64_t>(e.instants.size())) << "seed " << seed;
      EXPECT_EQ(row.self_ns, e.self_ns) << "seed " << seed;
      ASSERT_EQ(row.count, e.durations.size());
      if (e.durations.empty()) continue;
      EXPECT_EQ(row.p50_ns, percentile(e.durations, 50));
      EXPECT_EQ(row.p95_ns, percentile(e.durations, 95));
      EXPECT_EQ(row.p99_ns, percentile(e.durations, 99));
      EXPECT_EQ(row.min_ns, e.durations.front());
      EXPECT_EQ(row.max_ns, e.durations.back());
    }
  }
}

}  // namespace
}  // namespace genscope

// Generations as runs, for the tests of comparisons.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/analyze.h>

#include "analyze/compare/judge.h"
#include "analyze/testing/trace_builder.h"
#include "testing/random.h"
#include "testing/units.h"

namespace genscope::testing::compared_runs {

using Texts = std::vector<std::pair<std::string, std::string>>;

// A generation: a session with arguments, a stage, and steps of these lengths in it.
struct Generation {
  Texts texts = {};
  std::vector<std::pair<std::string, double>> numbers = {};
  std::vector<std::int64_t> step_ms = {100, 101, 99, 100, 102, 98, 100, 101};
  std::int64_t decode_ms = 50;

  Trace trace() const {
    TraceBuilder t;
    const std::int64_t total = decode_ms + sum();
    const auto session = t.span("gen", SpanKind::session, 0, total * kMs, {.flags = kSpanDetached});
    for (const auto& [key, value] : texts) t.arg(session, key, ArgType::text, 0, value);
    for (const auto& [key, value] : numbers) {
      t.arg(session, key, ArgType::float64, std::bit_cast<std::uint64_t>(value));
    }
    const auto loop = t.span("denoise", SpanKind::stage, 0, sum() * kMs);
    std::int64_t at = 0;
    for (const std::int64_t ms : step_ms) {
      t.span("step", SpanKind::step, at * kMs, ms * kMs, {.parent = loop});
      at += ms;
    }
    t.span("vae_decode", SpanKind::stage, at * kMs, decode_ms * kMs);
    return t.trace();
  }
  Run run() const { return make_run(trace()); }

 private:
  std::int64_t sum() const {
    std::int64_t all = 0;
    for (const std::int64_t ms : step_ms) all += ms;
    return all;
  }
};

inline Comparison compared(const Run& before, const Run& after,
                           const CompareOptions& options = {}) {
  return compare(before, analyze(before), after, analyze(after), options);
}

inline const ChangeRow& row_of(const Comparison& comparison, std::string_view name) {
  static const ChangeRow kMissing;
  for (const ChangeRow& row : comparison.rows) {
    if (row.name == name) return row;
  }
  ADD_FAILURE() << "no row " << name;
  return kMissing;
}

inline std::vector<std::string> keys(const std::vector<Difference>& list) {
  std::vector<std::string> out;
  for (const Difference& d : list) out.push_back(d.key + (d.decisive ? "!" : ""));
  return out;
}

inline analysis::Sample sample_of(const std::vector<double>& values) {
  analysis::Sample sample;
  sample.count = values.size();
  for (const double value : values) sample.logs.push_back(std::log(value));
  std::sort(sample.logs.begin(), sample.logs.end());
  return sample;
}

// Sides of several runs. The runs began in turns: before, after, before, ...
struct Sides {
  std::vector<genscope::Run> before, after;

  void add(const Generation& a, const Generation& b) {
    before.push_back(a.run());
    after.push_back(b.run());
    const auto n = static_cast<std::int64_t>(before.size());
    before.back().started_unix_ns = 20 * n;
    after.back().started_unix_ns = 20 * n + 10;
    before.back().id = "a" + std::to_string(n);
    after.back().id = "b" + std::to_string(n);
  }
  Comparison compare(const CompareOptions& options = {}) const {
    Comparer comparer;
    for (const genscope::Run& run : before) comparer.add_before(run, analyze(run));
    for (const genscope::Run& run : after) comparer.add_after(run, analyze(run));
    return comparer.finish(options);
  }
};

// `runs` of each, with noise of 1 % in every step, and the steps and the decoder after so many
// times as long.
inline Sides noisy_sides(int runs, double steps, double decode, std::uint64_t seed = 3) {
  genscope::testing::Random random(seed);
  Sides sides;
  const auto generation = [&](double step_factor, double decode_factor) {
    const auto noise = [&] { return 0.99 + 0.02 * static_cast<double>(random.below(1000)) / 1e3; };
    Generation g;
    const double run_noise = noise();
    for (std::int64_t& ms : g.step_ms) {
      ms = std::llround(1000 * step_factor * run_noise * noise());
    }
    g.decode_ms = std::llround(1000 * decode_factor * noise());
    return g;
  };
  for (int i = 0; i < runs; ++i) sides.add(generation(1, 1), generation(steps, decode));
  return sides;
}

}  // namespace genscope::testing::compared_runs

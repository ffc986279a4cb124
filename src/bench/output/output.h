// Results of benchmarks as bytes: for people, for CI, for other tools. One function per output;
// none of them measures or judges.
//
// Output goes to a Sink piece by piece, as report.h says. Names, prompts and messages are others'
// words: each output escapes them as its format needs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/bench.h>
#include <genscope/report.h>

namespace genscope::bench {

// For github-action-benchmark: customSmallerIsBetter or customBiggerIsBetter.
void result_benchmark_action(const BenchResult& result, Direction direction, const Sink& sink);
// Bencher Metric Format.
void result_bmf(const BenchResult& result, const Sink& sink);
// Workflow commands of GitHub (::error, ::warning), at most kMostAnnotations.
inline constexpr std::size_t kMostAnnotations = 10;
void result_annotations(const BenchResult& result, const Sink& sink);

// A figure over time, for the page.
struct HistoryPoint {
  std::string id, started, commit;
  double value = 0;
  std::optional<double> lo, hi;  // of the median
  bool spike = false;            // far from its neighbours; it moves no level
  bool accepted = false;         // somebody said that a new level begins here
  bool shown = false;            // the result that the page is about
};
struct HistoryStep {      // a change of level
  std::size_t index = 0;  // the first point of the new one
  double before = 0, after = 0;
  bool worse = false, confirmed = false, accepted = false;
};
struct HistoryLevel {
  std::size_t begin = 0, end = 0;  // points
  double value = 0;
};
struct HistorySeries {
  std::string cell, metric;
  std::vector<HistoryPoint> points;  // oldest first
  std::vector<HistoryStep> changes;
  std::vector<HistoryLevel> levels;
  std::optional<double> limit;       // its target
  std::vector<std::string> remarks;  // sentences
};
struct ResultPageOptions {
  std::string x_axis, y_axis;  // of the heat map; empty: the two axes with the most values
  std::string metric = "latency_s";
  std::vector<HistorySeries> history;
};
// One file to open in a browser, offline, without a script.
void result_html(const BenchResult& result, const ResultPageOptions& options, const Sink& sink);

// The page of a history alone: one chart for each series, and its points as a table.
struct HistoryPageOptions {
  std::string title;               // what was measured
  std::vector<std::string> facts;  // below it: the machine, from when to when
};
void history_html(const std::vector<HistorySeries>& all, const HistoryPageOptions& options,
                  const Sink& sink);

// ---- in CI

enum class Ci : std::uint8_t { none, github, gitlab, other };
std::string_view name(Ci ci) noexcept;
using GetEnv = std::function<std::optional<std::string>(const char*)>;
GetEnv process_environment();
// From GITHUB_ACTIONS, GITLAB_CI, BUILDKITE, JENKINS_URL, CI.
Ci detect_ci(const GetEnv& env = process_environment());
// "auto", "github", "gitlab", "none".
Result<Ci> ci_of(std::string_view word, const GetEnv& env = process_environment());
// Writes genscope-summary.md, genscope-junit.xml, genscope-bench-smaller.json,
// genscope-bench-bigger.json and genscope-bmf.json into `folder`; for GitHub also appends to the
// file in GITHUB_STEP_SUMMARY (at most kLargestSummary in all) and prints annotations to `sink`.
// The files that were written.
inline constexpr std::size_t kLargestSummary = std::size_t{1024} << 10;
Result<std::vector<std::string>> write_ci_files(const BenchResult& result, Ci ci,
                                                const std::string& folder, const Sink& sink,
                                                const GetEnv& env = process_environment());

}  // namespace genscope::bench

// A load run or a search, with the figures that verdicts are made of. The CLI and suites come
// through here, so that both mean the same.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/statistics/statistics.h"
#include "bench/http/load.h"

namespace genscope::bench {
namespace {

// Good answers, by request; failed ones count as later than all others.
std::optional<double> median_latency(std::span<const LoadRun> runs) {
  std::vector<double> seconds;
  std::size_t all = 0;
  for (const LoadRun& run : runs) {
    all += run.requests.size();
    for (const LoadRequest& request : run.requests) {
      if (request.failure) continue;
      seconds.push_back(static_cast<double>(request.done_ns - request.scheduled_ns) * 1e-9);
    }
  }
  // The place of the median, counted over all, must be among those that were answered.
  const std::size_t place = all / 2;
  if (place >= seconds.size()) return std::nullopt;
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(place),
                   seconds.end());
  return seconds[place];
}

// "latency_p99_s" of ("latency_s", "p99").
std::string with_rank(std::string_view metric, std::string_view rank) {
  const std::size_t unit = metric.rfind('_');
  return fmt::format("{}_{}{}", metric.substr(0, unit), rank, metric.substr(unit));
}

Failure load_failure(const LoadResultSummary& summary, std::span<const LoadRun> runs) {
  Failure failure{FailureClass::http_error, load_sentence(summary)};
  for (const LoadRun& run : runs) {
    for (const std::string& example : run.examples) {  // "http_error: the warm-up: ..."
      const std::size_t colon = example.find(": ");
      const auto kind = failure_class(std::string_view(example).substr(0, colon));
      if (!kind) continue;
      failure.kind = *kind;
      if (summary.requests > 0) failure.detail += " " + example;
      return failure;
    }
  }
  return failure;
}

}  // namespace

Sample load_sample(std::span<const LoadRun> runs, const LoadResultSummary& summary) {
  Sample out;
  const auto& ranks = summary.from_arrival_s.empty() ? summary.service_s : summary.from_arrival_s;
  for (const auto& [rank, seconds] : ranks) out.metrics[with_rank("latency_s", rank)] = seconds;
  for (const auto& [metric, values] : summary.metrics) {
    for (const auto& [rank, value] : values) {
      out.metrics[rank == "mean" ? metric : with_rank(metric, rank)] = value;
    }
  }
  std::optional<double> median = median_latency(runs);
  if (!median && ranks.contains("p50")) median = ranks.at("p50");  // of a search
  if (median) out.metrics["latency_s"] = *median;
  if (summary.requests > 0) {
    out.metrics["achieved_per_s"] = summary.achieved_per_s;
    out.metrics["failed_ratio"] =
        static_cast<double>(summary.failed) / static_cast<double>(summary.requests);
  }
  const auto put = [&](const char* name, const std::optional<double>& value) {
    if (value) out.metrics[name] = *value;
  };
  put("goodput_per_s", summary.goodput_per_s);
  put("slo_attainment_ratio", summary.slo_attainment);
  put("peak_per_s", summary.peak_per_s);
  if (!median) out.failure = load_failure(summary, runs);
  return out;
}

Result<LoadOutcome> measure_load(const LoadOptions& options, bool find_peak,
                                 const OnLoadProgress& progress,
                                 const std::function<bool(const PeakTrial&)>& trial) {
  LoadOutcome out;
  std::span<const LoadRun> runs;
  if (find_peak) {
    PeakOptions limits;
    if (options.rate > 0) limits.first_rate = options.rate;
    Result<Peak> peak = bench::find_peak(options, limits, trial, progress);
    if (!peak) return peak.error();
    for (const PeakTrial& one : peak->trials) {
      if (!peak->rate || one.rate == *peak->rate) out.summary = one.summary;
    }
    out.summary.peak_per_s = peak->rate;
    out.run.interrupted = peak->interrupted;
    out.peak = *std::move(peak);
  } else {
    Result<LoadRun> run = run_load(options, progress);
    if (!run) return run.error();
    out.run = *std::move(run);
    runs = {&out.run, 1};
    out.summary = summarize_load(runs, options.slo);
    if (!options.scenario.empty()) {
      for (std::string& note : departures_from_rules(options, out.run)) {
        out.summary.notes.push_back(std::move(note));
      }
    }
  }
  out.summary.max_failed = options.max_failed;
  out.summary.min_goodput_per_s = options.min_goodput;
  out.sample = load_sample(runs, out.summary);
  return out;
}

}  // namespace genscope::bench

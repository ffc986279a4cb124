// The highest rate at which the SLO is met. Doubling finds a bracket in few trials; bisection then
// narrows it. A trial is valid only if its requests show the SLO with confidence, so noise makes
// the peak lower, never higher. A trial ends early once more requests are over the SLO than any
// valid trial of its length may have: a rate that is far too high costs seconds.
//
// After a trial that failed the server may still be at work on what was cancelled. Requests are
// sent one at a time until one is within the SLO again.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/inference/inference.h"
#include "base/clock.h"
#include "bench/http/load.h"
#include "report/format.h"

namespace genscope::bench {
namespace {

constexpr std::uint64_t kTrialSeedsApart = 20 * kLoadSeedsApart;  // a suite may search in 20 units
constexpr double kPeakConfidence = 0.99;
constexpr double kTrialSeconds = 10;  // at least, where the user says no duration
constexpr std::uint64_t kSettleRequests = 10;

// Twice what no request over the SLO would need, so that a few may be.
std::uint64_t trial_requests(const LoadOptions& options, double rate) {
  const std::uint64_t least =
      stats::least_within(options.slo->percentile, kPeakConfidence, 0).value_or(1) * 2;
  if (options.requests) return std::max(*options.requests, least);
  return std::max(static_cast<std::uint64_t>(options.duration_s.value_or(kTrialSeconds) * rate),
                  least);
}

// The most requests over the SLO with which `n` are still valid.
std::uint64_t most_over(std::uint64_t n, double percentile) {
  std::uint64_t low = 0, high = n;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    const auto run = stats::server_run(n, middle, percentile, kPeakConfidence);
    run&& run->valid ? low = middle : high = middle - 1;
  }
  return low;
}

class PeakSearch {
 public:
  PeakSearch(LoadOptions options, const PeakOptions& peak,
             const std::function<bool(const PeakTrial&)>& trial, const OnLoadProgress& progress)
      : options_(std::move(options)), limits_(peak), trial_(trial), progress_(progress) {
    options_.give_up_over.reset();
  }

  Result<Peak> run() {
    began_ns_ = base::monotonic_ns();
    double rate = limits_.first_rate;
    while (out_.ended.empty()) {
      const Result<bool> valid = try_rate(rate);
      if (!valid) {
        if (out_.trials.empty()) return valid.error();
        out_.ended = valid.error().message;
      }
      if (!out_.ended.empty()) break;
      if (*valid) out_.rate = std::max(rate, out_.rate.value_or(0));
      if (!*valid) out_.invalid = std::min(rate, out_.invalid.value_or(rate));
      rate = next_rate(rate);
    }
    return std::move(out_);
  }

 private:
  double next_rate(double rate) {
    if (out_.rate && out_.invalid && *out_.invalid <= *out_.rate * (1 + limits_.precision)) {
      out_.ended = fmt::format("found within {}", report::percent(limits_.precision));
    } else if (out_.trials.size() >= limits_.trials_max) {
      out_.ended = fmt::format("ended after {} trials", out_.trials.size());
    } else if (limits_.budget_s && elapsed_s() >= *limits_.budget_s) {
      out_.ended = "ended: the time was spent";
    } else if (!out_.rate && rate < limits_.first_rate / 1000) {
      out_.ended = "no rate meets the SLO";
    }
    if (!out_.invalid) return rate * 2;
    return out_.rate ? (*out_.rate + *out_.invalid) / 2 : rate / 2;
  }

  Result<bool> try_rate(double rate) {
    LoadOptions options = options_;
    options.rate = rate;
    options.seed = options_.seed + out_.trials.size() * kTrialSeedsApart;
    options.requests = trial_requests(options_, rate);
    options.duration_s.reset();
    options.give_up_over = most_over(*options.requests, options.slo->percentile);
    if (!out_.trials.empty()) options.warmup = 0;
    const Result<LoadRun> run = run_load(options, progress_);
    if (!run) return run.error();
    PeakTrial trial{.rate = rate,
                    .summary = summarize_load({&*run, 1}, options.slo, kPeakConfidence)};
    if (run->interrupted) {
      out_.interrupted = true;
      out_.ended = "interrupted";
      return false;
    }
    trial.gave_up = run->gave_up;
    trial.valid = !run->gave_up && trial.summary.slo_verdict == "met";
    out_.trials.push_back(trial);
    if (trial_ && !trial_(out_.trials.back())) {
      out_.interrupted = true;
      out_.ended = "interrupted";
    }
    if (!trial.valid) settle();
    return trial.valid;
  }

  void settle() {
    LoadOptions one = options_;
    one.arrivals = Arrivals::closed;
    one.concurrency = one.samples_per_query = 1;
    one.requests = 1;
    one.duration_s.reset();
    one.warmup = 0;
    one.scenario.clear();
    for (std::uint64_t i = 0; i < kSettleRequests; ++i) {
      // From a cache it would be answered by a server that is still busy.
      one.seed = options_.seed + kTrialSeedsApart / 2 + settle_requests_++;
      const Result<LoadRun> run = run_load(one, progress_);
      if (!run || run->interrupted) return;
      if (summarize_load({&*run, 1}, one.slo).slo_attainment.value_or(0) == 1) return;
    }
  }

  double elapsed_s() const { return static_cast<double>(base::monotonic_ns() - began_ns_) * 1e-9; }

  LoadOptions options_;
  PeakOptions limits_;
  const std::function<bool(const PeakTrial&)>& trial_;
  const OnLoadProgress& progress_;
  std::int64_t began_ns_ = 0;
  std::uint64_t settle_requests_ = 0;
  Peak out_;
};

}  // namespace

Result<Peak> find_peak(LoadOptions options, const PeakOptions& peak,
                       const std::function<bool(const PeakTrial&)>& trial,
                       const OnLoadProgress& progress) {
  if (!options.slo) {
    return Error{ErrorCode::invalid_argument,
                 "the highest rate is the highest that meets an SLO; give one, such as 20s@p99"};
  }
  if (options.arrivals != Arrivals::poisson && options.arrivals != Arrivals::gamma &&
      options.arrivals != Arrivals::constant) {
    return Error{ErrorCode::invalid_argument,
                 "the highest rate is searched with Poisson, gamma or constant arrivals"};
  }
  if (!(peak.first_rate > 0) || !(peak.precision > 0) || peak.trials_max == 0) {
    return Error{ErrorCode::invalid_argument, "the first rate and the precision are above 0"};
  }
  return PeakSearch(std::move(options), peak, trial, progress).run();
}

}  // namespace genscope::bench

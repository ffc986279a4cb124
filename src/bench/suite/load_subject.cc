#include "bench/suite/load_subject.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "bench/suite/subject_of.h"

namespace genscope::bench {

Result<LoadOptions> suite_load(const Suite& suite, const Params& params) {
  if (!suite.load) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}: it has no section `load`; add one, or give a URL", suite.file)};
  }
  LoadOptions load;
  load.http = suite_http(suite);
  load.params = params;
  load.prompts = suite.prompts.texts;
  load.warmup = suite.warmup.max_iters == 0 ? 0 : 1;
  if (const auto wrong = apply_spec(*suite.load, load)) {  // the reader has seen it already
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}: load: {}: {}", suite.file, wrong->field, wrong->what)};
  }
  return load;
}

std::optional<double> load_seconds(const LoadOptions& options, bool find_peak) {
  if (find_peak) return std::nullopt;
  std::optional<double> seconds = options.duration_s;
  if (options.arrivals == Arrivals::trace && !options.trace_s.empty()) {
    seconds = std::min(seconds.value_or(options.trace_s.back()), options.trace_s.back());
  }
  if (options.requests && options.rate > 0) {
    const double all = static_cast<double>(*options.requests) / options.rate;
    seconds = std::min(seconds.value_or(all), all);
  }
  return seconds;
}

std::optional<Failure> LoadSubject::begin(const Params& params) {
  last_.reset();
  const std::optional<ServerOptions> server = suite_server(suite_, suite_http(suite_));
  if (!server || (server_ && params == params_ && !server_->ended())) return std::nullopt;
  server_.reset();
  params_ = params;
  Failure failure;
  server_ = RunningServer::start(*server, params, failure);
  if (!server_) return failure;
  return std::nullopt;
}

void LoadSubject::end() {
  if (!suite_.runner.warm_server) server_.reset();
}

// Units differ in their arrivals and in the seeds of their requests, and are the same in every run
// of the suite.
Sample LoadSubject::measure(const Request& request) {
  Sample sample;
  sample.started_ns = base::monotonic_ns();
  const auto fail = [&](FailureClass kind, const std::string& why) {
    sample.iteration = request.iteration;
    sample.failure = Failure{kind, why};
    return sample;
  };
  Result<LoadOptions> options = suite_load(suite_, request.params);
  if (!options) return fail(FailureClass::startup_failed, options.error().message);
  if (server_) options->http = server_->http();
  if (request.timeout_s) options->http.timeout_s = *request.timeout_s;
  options->seed += (request.unit * suite_.iterations.max + request.iteration) * kLoadSeedsApart;
  Result<LoadOutcome> outcome = measure_load(*options, suite_.load->find_peak, progress_);
  if (!outcome) return fail(FailureClass::startup_failed, outcome.error().message);
  if (outcome->run.interrupted) return fail(FailureClass::cancelled, "cancelled");
  const std::int64_t started = sample.started_ns;
  sample = outcome->sample;
  sample.started_ns = started;
  sample.iteration = request.iteration;
  if (sample.failure && server_) {
    if (std::optional<Failure> ended = server_->ended()) sample.failure = std::move(ended);
  }
  last_ = *std::move(outcome);
  last_->summary.unit = request.unit;
  return sample;
}

}  // namespace genscope::bench

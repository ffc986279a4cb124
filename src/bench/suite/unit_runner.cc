// Prompt and seed depend on the unit's number alone, so both sides of a comparison, and a run that
// was resumed, see the same. Warm-up ends when two iterations in a row take about the same. A unit
// that failed is tried again as often as the suite allows for that kind of failure; one that was
// disturbed counts only if no better try came.
#include "bench/suite/unit_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "bench/run/steady.h"

namespace genscope::bench {
namespace {

// The unit's number decides prompt and seed, so that they are the same in every run of the suite.
Request suite_request(const Suite& suite, const UnitPlan& plan, std::size_t iteration,
                      bool warmup) {
  Request request;
  request.iteration = iteration;
  request.unit = plan.process;
  request.warmup = warmup;
  request.params = *plan.params;
  request.timeout_s = plan.timeout_s;
  const std::size_t at = plan.process * suite.iterations.max + iteration;
  const std::vector<std::string>& prompts = suite.prompts.texts;
  const std::size_t in_turn = std::max<std::size_t>(1, prompts.size());
  if (!prompts.empty()) request.prompt = prompts[at % in_turn];
  if (!suite.prompts.seeds.empty()) {
    request.seed = suite.prompts.seeds[at / in_turn % suite.prompts.seeds.size()];
  }
  return request;
}

std::optional<double> latency_in(const Sample& sample) {
  const auto found = sample.metrics.find("latency_s");
  if (sample.failure || found == sample.metrics.end()) return std::nullopt;
  return found->second;
}

// The failure that ends it, if one does.
std::optional<Failure> warm_up_unit(const Suite& suite, Subject& subject, const UnitPlan& plan,
                                    std::vector<double>& times) {
  double spent = 0;
  for (std::size_t i = 0; i < suite.warmup.max_iters && !cancelled(); ++i) {
    const Sample sample = subject.measure(suite_request(suite, plan, i, true));
    if (sample.failure) return sample.failure;
    const std::optional<double> took = latency_in(sample);
    if (!took) continue;
    const bool steady = !times.empty() && !still_warming(times.back(), *took);
    times.push_back(*took);
    spent += *took;
    if (steady || (suite.warmup.max_seconds && spent >= *suite.warmup.max_seconds)) break;
  }
  return std::nullopt;
}

void run_iterations(const Suite& suite, Subject& subject, const UnitPlan& plan, Unit& unit) {
  std::vector<double> times;
  for (std::size_t i = 0; i < suite.iterations.max; ++i) {
    if (enough_iterations(times, suite.iterations.min) || cancelled()) return;
    unit.samples.push_back(subject.measure(suite_request(suite, plan, i, false)));
    if (const auto took = latency_in(unit.samples.back())) times.push_back(*took);
    // A server that is gone answers no more: one failure is enough to know.
    if (unit.samples.back().failure && !suite.prompts.min_success) return;
  }
}

Unit try_unit(const Suite& suite, Subject& subject, const UnitPlan& plan) {
  Unit unit;
  unit.process = plan.process;
  unit.order_index = plan.order_index;
  unit.started_unix_ns = base::realtime_ns();
  unit.failure = subject.begin(*plan.params);
  if (unit.failure) return unit;
  // A load has warm-up requests of its own.
  if (!suite.load && (plan.warm_up || subject.starts_afresh())) {
    unit.failure = warm_up_unit(suite, subject, plan, unit.warmup_s);
  }
  if (!unit.failure) run_iterations(suite, subject, plan, unit);
  subject.end();
  return unit;
}

// "throttled" or "foreign_load" while it ran: it counts only if there is no better try.
std::optional<Failure> disturbed(const Unit& unit) {
  for (const Sample& sample : unit.samples) {
    for (const std::string& flag : sample.flags) {
      const std::optional<FailureClass> known = failure_class(flag);
      if (known && kind_of(*known) == FailureKind::throttled) return Failure{*known, flag};
    }
  }
  return std::nullopt;
}

}  // namespace

FailureKind kind_of(FailureClass failure) noexcept {
  switch (failure) {
    case FailureClass::startup_failed:
    case FailureClass::http_error:
      return FailureKind::infra;
    case FailureClass::throttled:
    case FailureClass::foreign_load:
      return FailureKind::throttled;
    case FailureClass::cancelled:
      return FailureKind::cancelled;
    default:
      return FailureKind::product;
  }
}

std::optional<Failure> failure_of_unit(const Unit& unit) {
  if (unit.failure) return unit.failure;
  for (const Sample& sample : unit.samples) {
    if (!sample.failure) return std::nullopt;
  }
  if (unit.samples.empty()) return Failure{FailureClass::cancelled, "no iteration was run"};
  return unit.samples.front().failure;
}

Unit run_unit(const Suite& suite, Subject& subject, const UnitPlan& plan) {
  std::size_t left[] = {suite.retry.infra, suite.retry.throttled, suite.retry.product_failure, 0};
  std::vector<std::string> before;
  while (true) {
    Unit unit = try_unit(suite, subject, plan);
    std::optional<Failure> failure = failure_of_unit(unit);
    if (!failure) failure = disturbed(unit);
    if (failure && !cancelled()) {
      std::size_t& tries = left[static_cast<std::size_t>(kind_of(failure->kind))];
      if (tries > 0) {
        --tries;
        before.push_back(fmt::format("retried after {}", name(failure->kind)));
        continue;
      }
    }
    for (Sample& sample : unit.samples) {
      sample.flags.insert(sample.flags.end(), before.begin(), before.end());
    }
    return unit;
  }
}

}  // namespace genscope::bench

// A function as the thing under test.
#include <exception>

#include <genscope/bench.h>

#include "base/clock.h"

namespace genscope::bench {
namespace {

class CallableSubject final : public Subject {
 public:
  explicit CallableSubject(std::function<Sample(const Request&)> function)
      : function_(std::move(function)) {}

  Sample measure(const Request& request) override {
    Sample sample;
    const std::int64_t began_cpu = base::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const std::int64_t began = base::monotonic_ns();
    std::int64_t ended = began;
    try {
      sample = function_(request);
      ended = base::monotonic_ns();
    } catch (const std::exception& error) {
      sample.failure = Failure{FailureClass::crash, error.what()};
    } catch (...) {
      sample.failure = Failure{FailureClass::crash, "it threw something unknown"};
    }
    const std::int64_t cpu = base::clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_cpu;
    sample.iteration = request.iteration;
    sample.started_ns = began;
    if (sample.prompt.empty()) sample.prompt = request.prompt;
    if (!sample.seed) sample.seed = request.seed;
    if (sample.failure) return sample;
    // What it says itself holds.
    if (sample.metrics.emplace("latency_s", static_cast<double>(ended - began) * 1e-9).second) {
      sample.metrics.emplace("cpu_s", static_cast<double>(cpu) * 1e-9);
    }
    return sample;
  }

 private:
  std::function<Sample(const Request&)> function_;
};

}  // namespace

std::unique_ptr<Subject> callable_subject(std::function<Sample(const Request&)> function) {
  return std::make_unique<CallableSubject>(std::move(function));
}

}  // namespace genscope::bench

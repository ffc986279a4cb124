// What the parts of PerformanceValidator share.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "bench/validate/gpu_watch.h"
#include "genscope/bench.h"
#include "genscope/compat/validator.h"

namespace genscope::compat {

struct ValidatorState {
  explicit ValidatorState(ValidatorOptions given) : options(std::move(given)) {}

  const ValidatorOptions options;
  mutable std::mutex mutex;  // of all below
  std::vector<BenchmarkResult> results;
  std::optional<double> baseline_s;
  std::optional<bench::GpuWatched> hardware;  // as the first watch saw it

  bool cancelled() const { return options.cancelled && options.cancelled(); }
  // Target, score and improvement from total_time; keeps the result and gives it back.
  BenchmarkResult finish(BenchmarkResult result);
  void keep(const BenchmarkResult& result);
  void set_gpu(const bench::GpuWatched& watched, BenchmarkResult& result);
};

// GPUs while it lives, if the options want them.
class GpuDuring {
 public:
  explicit GpuDuring(ValidatorState& impl);
  // Ends it and fills the result's figures.
  void put(BenchmarkResult& result);

 private:
  ValidatorState& impl_;
  std::unique_ptr<bench::GpuWatch> watch_;
};

// The calls of a test, as they come.
struct Calls {
  std::vector<double> times;  // of those that worked
  std::uint64_t errors = 0;
  std::vector<std::string> warnings;  // the first ten errors

  // Calls it once; the time, or nothing and one error more.
  std::optional<double> call(const GeneratorFunction& function, const GenerationCall& what);
  void add_error(std::string text);
  // success_rate, its interval, errors, warnings, times, generations.
  void put(BenchmarkResult& result) const;
};
// A call that does not count.
void warm_up(const GeneratorFunction& function, const GenerationCall& what, std::size_t times);
CallOutcome call_safely(const GeneratorFunction& function, const GenerationCall& what,
                        double& seconds);

BenchmarkResult new_result(std::string test_name, std::string model_name, std::string architecture,
                           double target_s);
// total_time as the median, or the mean of calls that differ, with its interval.
void set_time(BenchmarkResult& result, bool mean);

// "2026-01-31T12:00:00.500000000Z" as the document writes times: without a zone and nanoseconds.
std::string document_time();

}  // namespace genscope::compat

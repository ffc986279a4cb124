// The section `load` of a suite: a cell is measured by the load generator. A unit is one load run
// (or one search for the peak); its sample has the percentiles, goodput and failed share of that
// run, so that targets, comparisons and history treat them as any metric.
#pragma once

#include <memory>
#include <optional>

#include "bench/http/running_server.h"
#include "bench/suite/suite.h"

namespace genscope::bench {

// What the suite asks for, with these parameters: its endpoint, prompts and load.
Result<LoadOptions> suite_load(const Suite& suite, const Params& params);
// How long one run takes, as far as the section says it; warm-up and server not counted.
std::optional<double> load_seconds(const LoadOptions& options, bool find_peak);

class LoadSubject final : public Subject {
 public:
  explicit LoadSubject(const Suite& suite) : suite_(suite) {}

  std::optional<Failure> begin(const Params& params) override;
  void end() override;
  Sample measure(const Request& request) override;
  bool starts_afresh() const override { return !suite_.runner.warm_server; }

  // For the live line; false stops.
  void on_progress(OnLoadProgress progress) { progress_ = std::move(progress); }
  // Of the last measure(): once. Nothing if it did not get so far.
  std::optional<LoadOutcome> take() { return std::exchange(last_, std::nullopt); }

 private:
  const Suite& suite_;
  Params params_;
  OnLoadProgress progress_;
  std::unique_ptr<RunningServer> server_;
  std::optional<LoadOutcome> last_;
};

}  // namespace genscope::bench

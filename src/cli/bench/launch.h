// `genscope bench run --launch`: the cells of a suite on the machines of another engine.
#pragma once

#include <string>
#include <vector>

#include "bench/machines/gather.h"
#include "bench/machines/launch.h"
#include "bench/suite/suite.h"
#include "cli/options.h"

namespace genscope::cli::bench {

struct Launched {
  std::string folder;  // with plan.json, the results of the cells and what tasks printed
  genscope::bench::Gathered gathered;
};

class Launching {
 public:
  void add_options(Options& options);
  bool wanted() const noexcept { return !engine_.empty(); }
  bool prints_only() const noexcept { return engine_ == "k8s"; }
  // Plans the suite in a new folder below options.out. `file` is where the suite was read from.
  Result<std::string> plan(const std::string& file, const genscope::bench::Suite& suite,
                           const genscope::bench::SuiteOptions& options);
  // Of k8s: the job, for `kubectl apply -f -`.
  Result<std::string> job() const;
  // Of slurm: waits until all tasks have ended, then gathers.
  Result<Launched> run(bool strict) const;

 private:
  std::string engine_, folder_;
  genscope::bench::Plan plan_;
  genscope::bench::LaunchOptions launch_;
  bool shared_ = false;
};

}  // namespace genscope::cli::bench

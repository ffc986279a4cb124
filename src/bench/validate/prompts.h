// A subject driven through a list of prompts, each as often as asked, whether it fails or not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "genscope/bench.h"

namespace genscope::bench {

// One prompt a line; blank lines and lines that begin with # are left out. An error names the file.
Result<std::vector<std::string>> read_prompts(const std::string& path);

struct PromptOptions {
  std::vector<std::string> prompts;
  std::vector<std::int64_t> seeds;  // every prompt with every seed; empty: without one
  std::size_t repeat = 1;
  std::size_t warmup = 0;  // runs of the first prompt that do not count
  Params params;
  std::optional<double> timeout_s;
  std::optional<double> duration_s;  // go round until this has passed, once at least
  bool check_outputs = true;         // a blank or broken file is a failure
};
// False stops.
using OnSample = std::function<bool(const Sample&, std::size_t done, std::size_t all)>;

// One unit for each run, in the order of the prompts. Status "cancelled" if it was stopped.
Cell run_prompts(Subject& subject, const PromptOptions& options, const OnSample& tell = {});

}  // namespace genscope::bench

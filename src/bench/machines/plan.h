// A suite cut into cells that other machines run. The plan is one file in a folder that they share;
// no scheduler of ours: Slurm, Kubernetes, Ray or a shell loop starts `genscope bench cell`.
//
//   plan.json                        what is to be run, with the suite's own text
//   <cell>/<attempt>/result.json     what one attempt at a cell gave; appears whole
//
// A lost machine may come back while its cell already runs elsewhere, so attempts never share a
// file. gather() takes one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/bench.h>
#include <genscope/error.h>

#include "bench/suite/suite.h"

namespace genscope::bench {

struct PlanCell {
  std::string id;
  Params params;
  std::optional<double> estimated_s;  // absent: nobody knows
};

struct Plan {
  std::string suite, suite_hash;
  std::string suite_file, suite_text;
  std::uint64_t seed = 1;
  std::vector<PlanCell> cells;       // by their index
  std::vector<PlannedCell> skipped;  // left out, with the reason
};

// `text` is what `suite` was read from.
Result<Plan> make_plan(const Suite& suite, std::string text, std::uint64_t seed = 1,
                       std::string_view only = {});
std::string to_json(const Plan& plan);
Result<Plan> read_plan(const std::string& path);

// The suite that the plan holds. An error if its hash is another one: a file of prompts changed.
Result<Suite> suite_of(const Plan& plan);

// Name of the folder of a cell: readable, and different for different ids.
std::string cell_folder(const std::string& id);

// Which cell this task is to run: $GENSCOPE_CELL_INDEX, $SLURM_ARRAY_TASK_ID or
// $JOB_COMPLETION_INDEX. Nothing if none is set; an error for one that is no number.
Result<std::optional<std::uint64_t>> index_from_environment();

// Different for each attempt at a cell, on whatever machine; says which task it was if Slurm does.
std::string attempt_name();

}  // namespace genscope::bench

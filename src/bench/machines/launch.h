// How other engines are told to run the cells of a plan.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <genscope/error.h>

#include "bench/machines/plan.h"

namespace genscope::bench {

// Slurm takes arrays of up to 1,001 tasks unless its settings say more; a task then runs several
// cells, one after the other: index, index + tasks, ...
inline constexpr std::size_t kMaxTasks = 1000;
std::size_t task_count(const Plan& plan) noexcept;

struct LaunchOptions {
  std::string genscope;                       // the command, as the other machines find it
  std::string plan_path;                      // and the plan; absolute
  std::size_t at_once = 0;                    // tasks at the same time; 0: as there is room
  bool exclusive = true;                      // a node for each task: neighbours are noise
  std::vector<std::string> extra = {};        // Slurm: options for sbatch, as they are
  std::string image = {}, volume_claim = {};  // Kubernetes
};

// A batch script for sbatch.
std::string slurm_script(const Plan& plan, const LaunchOptions& options);
// Submits it and waits until all tasks have ended; the exit code of sbatch. The script and the
// tasks' output stay beside the plan.
Result<int> run_slurm(const Plan& plan, const LaunchOptions& options);

// An Indexed Job, YAML.
std::string kubernetes_job(const Plan& plan, const LaunchOptions& options);

}  // namespace genscope::bench

#include "cli/bench/launch.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "bench/suite/suite_folder.h"

namespace genscope::cli::bench {

void Launching::add_options(Options& options) {
  const Option launch =
      options.add("--launch", engine_, "ENGINE", "Run the cells by slurm, or print a job for k8s")
          .one_of({"slurm", "k8s"});
  options.add("--at-once", launch_.at_once, "N", "With --launch: tasks at a time").needs(launch);
  options.flag("--share-nodes", shared_, "With --launch slurm: other jobs may use the node, too")
      .needs(launch);
  options.add("--sbatch", launch_.extra, "OPTION", "With --launch slurm: an option for sbatch")
      .needs(launch);
  options.add("--image", launch_.image, "IMAGE", "With --launch k8s: what the pods run")
      .needs(launch);
  options.add("--volume-claim", launch_.volume_claim, "NAME", "With --launch k8s: holds the plan")
      .needs(launch);
}

Result<std::string> Launching::plan(const std::string& file, const genscope::bench::Suite& suite,
                                    const genscope::bench::SuiteOptions& options) {
  const Result<std::string> text = base::read_file(file);
  if (!text) return text.error();
  Result<genscope::bench::Plan> made =
      genscope::bench::make_plan(suite, *text, options.seed, options.only);
  if (!made) return made.error();
  const Result<std::string> folder = genscope::bench::new_suite_folder(suite, options.out);
  if (!folder) return folder.error();
  plan_ = std::move(*made);
  folder_ = base::absolute_path(*folder);
  std::error_code failed;
  launch_.exclusive = !shared_;
  launch_.genscope = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  if (failed) launch_.genscope = "genscope";
  launch_.plan_path = folder_ + "/plan.json";
  const Status written = base::write_file(launch_.plan_path, genscope::bench::to_json(plan_));
  if (!written) return written.error();
  return folder_;
}

Result<std::string> Launching::job() const {
  if (launch_.image.empty() || launch_.volume_claim.empty()) {
    return Error{ErrorCode::invalid_argument, "--launch k8s needs --image and --volume-claim"};
  }
  genscope::bench::LaunchOptions options = launch_;
  options.genscope = "genscope";  // of the image
  return genscope::bench::kubernetes_job(plan_, options);
}

Result<Launched> Launching::run(bool strict) const {
  // sbatch's own code is that of a task, or of a mistake of its own; what was measured decides.
  const Result<int> submitted = genscope::bench::run_slurm(plan_, launch_);
  if (!submitted) return submitted.error();
  Result<genscope::bench::Gathered> all = genscope::bench::gather(plan_, folder_, strict);
  if (!all) return all.error();
  if (*submitted != 0 && all->results.empty()) {
    all->exit.reasons.push_back(
        fmt::format("sbatch ended with {}; {}/task-*.log tells why", *submitted, folder_));
  }
  return Launched{folder_, std::move(*all)};
}

}  // namespace genscope::cli::bench

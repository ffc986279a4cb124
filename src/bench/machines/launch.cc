#include "bench/machines/launch.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/exec_words.h"
#include "base/file.h"
#include "base/text.h"

namespace genscope::bench {
namespace {

std::string shell_quote(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string cell_command(const Plan& plan, const LaunchOptions& options) {
  std::string command = fmt::format("{} bench cell {}", shell_quote(options.genscope),
                                    shell_quote(options.plan_path));
  if (task_count(plan) < plan.cells.size()) {
    command += fmt::format(" --every {}", task_count(plan));
  }
  return command;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// A name that Kubernetes and Slurm take: [a-z0-9-], at most 50.
std::string job_name(const Plan& plan) {
  std::string name = "genscope-" + base::file_name_from(plan.suite, 40);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_' || c == '.') c = '-';
  }
  while (name.back() == '-') name.pop_back();
  return name;
}

}  // namespace

std::size_t task_count(const Plan& plan) noexcept { return std::min(plan.cells.size(), kMaxTasks); }

std::string slurm_script(const Plan& plan, const LaunchOptions& options) {
  std::string script = "#!/bin/sh\n";
  script += fmt::format("#SBATCH --job-name={}\n", job_name(plan));
  script += fmt::format("#SBATCH --array=0-{}", task_count(plan) - 1);
  if (options.at_once > 0) script += fmt::format("%{}", options.at_once);
  script += "\n#SBATCH --requeue\n";
  if (options.exclusive) script += "#SBATCH --exclusive\n";
  script += "exec " + cell_command(plan, options) + "\n";
  return script;
}

Result<int> run_slurm(const Plan& plan, const LaunchOptions& options) {
  const std::string folder = folder_of(options.plan_path);
  const std::string script = folder + "/slurm.sh";
  if (const Status written = base::write_file(script, slurm_script(plan, options)); !written) {
    return written.error();
  }
  // As an argument: a path with blanks would be cut in the script's own #SBATCH lines.
  std::vector<std::string> words = {"sbatch", "--wait", "--output=" + folder + "/task-%A_%a.log"};
  words.insert(words.end(), options.extra.begin(), options.extra.end());
  words.push_back(script);
  const std::vector<char*> argv = base::pointers(words);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, "sbatch", nullptr, nullptr, argv.data(), environ);
  if (failed != 0) {
    return Error{ErrorCode::not_found,
                 fmt::format("cannot start sbatch: {}; Slurm's commands must be in PATH",
                             std::strerror(failed))};
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string kubernetes_job(const Plan& plan, const LaunchOptions& options) {
  const std::size_t tasks = task_count(plan);
  const std::size_t at_once = options.at_once > 0 ? options.at_once : tasks;
  const std::string command = cell_command(plan, options);
  return fmt::format(R"(apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed
  completions: {tasks}
  parallelism: {at_once}
  backoffLimitPerIndex: 2
  maxFailedIndexes: {tasks}
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: cell
          image: {image}
          command: ["sh", "-c", {command}]
          volumeMounts:
            - name: plan
              mountPath: {folder}
      volumes:
        - name: plan
          persistentVolumeClaim:
            claimName: {claim}
)",
                     fmt::arg("name", job_name(plan)), fmt::arg("tasks", tasks),
                     fmt::arg("at_once", at_once),
                     fmt::arg("image", base::json_quote(options.image)),
                     fmt::arg("command", base::json_quote(command)),
                     fmt::arg("folder", base::json_quote(folder_of(options.plan_path))),
                     fmt::arg("claim", base::json_quote(options.volume_claim)));
}

}  // namespace genscope::bench

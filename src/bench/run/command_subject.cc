// A command as the thing under test: one process for each iteration.
//
// Whether it records with genscope is found out at the first iteration, which gets a run directory;
// if no trace appears there, later ones get none and pay nothing.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>

#include <genscope/bench.h>

#include "base/clock.h"
#include "base/exec_words.h"
#include "bench/run/cycles.h"
#include "bench/run/expand.h"
#include "bench/run/failure.h"
#include "bench/run/gpu_meter.h"
#include "bench/run/output_files.h"
#include "bench/run/process.h"
#include "bench/run/recording.h"

namespace genscope::bench {
namespace {

// Below this share of all CPU time the first thread's waiting says little about the whole: others
// did the work, or made it wait.
constexpr double kOwnShare = 0.9;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

ShowOutput show_of(const std::string& word) {
  return word == "all" ? ShowOutput::all : word == "stderr" ? ShowOutput::errors : ShowOutput::none;
}

std::string variable_name(std::string_view parameter) {
  std::string out = "GENSCOPE_PARAM_";
  for (const char c : parameter) {
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return out;
}

class CommandSubject final : public Subject {
 public:
  explicit CommandSubject(CommandOptions options)
      : options_(std::move(options)), oom_kills_(count_oom_kills()), record_(options_.record) {}

  Sample measure(const Request& request) override {
    Sample sample;
    sample.iteration = request.iteration;
    sample.prompt = request.prompt;
    sample.seed = request.seed;
    const Params values = values_of(request);
    if (auto failure = aside(options_.prepare, "prepare", values)) {
      sample.failure = std::move(failure);
      return sample;
    }
    const std::string run = record_.value_or(true) ? folder().next() : "";
    const Spawn& spawn = prepare_spawn(values, request, run);
    open_gpu();
    open_cycles();
    const std::int64_t began_unix_ns = options_.outputs.empty() ? 0 : base::realtime_ns();
    if (gpu_) gpu_->begin();
    if (cycles_) cycles_->begin();
    const Ended ended = runner_.run(spawn);
    const std::optional<CpuCounts> counts = cycles_ ? cycles_->end() : std::nullopt;
    fill(ended, spawn, sample);
    if (!sample.failure) fill_counts(counts, sample.metrics);
    if (gpu_) take_gpu(sample);
    if (!run.empty()) take_stages(run, sample);
    if (!sample.failure && !options_.outputs.empty()) take_outputs(values, began_unix_ns, sample);
    auto failure = aside(options_.cleanup, "cleanup", values);
    if (failure && !sample.failure) sample.failure = std::move(failure);
    return sample;
  }

  std::map<std::string, std::string> absent() const override { return absent_; }

 private:
  RunFolder& folder() {
    if (!folder_) folder_ = std::make_unique<RunFolder>(options_.keep_runs);
    return *folder_;
  }

  // Environment of every iteration with these values, made when they change: some 50 strings.
  const std::vector<std::string>& environment(const Params& values) {
    Params key(values.begin(), values.end() - 1);  // but the number of the iteration
    if (!base_env_.empty() && key == env_key_) return base_env_;
    env_key_ = std::move(key);
    std::vector<std::pair<std::string, std::string>> added;
    for (const auto& [key_name, value] : options_.env) {
      added.emplace_back(key_name, expand(value, env_key_));
    }
    for (const auto& [parameter, value] : env_key_) {
      added.emplace_back(variable_name(parameter), value);
    }
    base_env_ = base::environment_with(added);
    // Ours, or that of a run around us; prepare_spawn() adds the iteration's.
    std::erase_if(base_env_,
                  [](const std::string& entry) { return entry.starts_with("GENSCOPE_RUN_DIR="); });
    return base_env_;
  }

  // In place: most of it is as it was at the last iteration, and its memory is there.
  const Spawn& prepare_spawn(const Params& values, const Request& request, const std::string& run) {
    Spawn& spawn = spawn_;
    spawn.argv.clear();
    if (options_.shell && options_.argv.empty()) {
      spawn.path = options_.shell_program;
      spawn.argv = {options_.shell_program, "-c", expand(options_.command, values)};
    } else {
      for (const std::string& word : options_.argv) spawn.argv.push_back(expand(word, values));
      if (spawn.argv.empty()) spawn.argv.push_back(expand(options_.command, values));
      if (program_.empty()) program_ = find_in_path(spawn.argv[0]);
      spawn.path = program_;
    }
    const std::vector<std::string>& base = environment(values);
    spawn.env.resize(base.size() + (run.empty() ? 1 : 2));
    std::copy(base.begin(), base.end(), spawn.env.begin());
    if (!run.empty()) spawn.env[base.size()] = "GENSCOPE_RUN_DIR=" + run;
    // Where the stack begins depends on the size of the environment, and some programs run faster
    // by a few percent at one place than at another: each run gets its own.
    spawn.env.back().assign("GENSCOPE_BENCH_PADDING=").append(random_() % 4096, 'x');
    spawn.cwd = options_.cwd;
    spawn.timeout_s = request.timeout_s ? request.timeout_s : options_.timeout_s;
    spawn.show = show_of(options_.show_output);
    return spawn;
  }

  // Before and after a run, by the shell, not timed.
  std::optional<Failure> aside(const std::string& command, const char* what, const Params& values) {
    if (command.empty()) return std::nullopt;
    Spawn spawn;
    spawn.path = options_.shell_program;
    spawn.argv = {options_.shell_program, "-c", expand(command, values)};
    spawn.env = environment(values);
    spawn.cwd = options_.cwd;
    spawn.show = show_of(options_.show_output);
    std::optional<Failure> failure = failure_of(runner_.run(spawn), {.shell = true});
    if (failure && failure->kind != FailureClass::cancelled) {
      failure->detail = fmt::format("the {} command failed: {}", what, failure->detail);
    }
    return failure;
  }

  void fill(const Ended& ended, const Spawn& spawn, Sample& sample) {
    sample.started_ns = ended.started_ns;
    JudgeEnd how{.shell = options_.shell && options_.argv.empty(),
                 .ignore_failure = options_.ignore_failure,
                 .timeout_s = spawn.timeout_s};
    if (ended.spawn_error == 0 && ended.status != 0) {
      const std::optional<std::uint64_t> kills = count_oom_kills();
      how.oom_killed = kills && oom_kills_ && *kills > *oom_kills_;
      oom_kills_ = kills;
    }
    sample.failure = failure_of(ended, how);
    if (sample.failure && sample.failure->kind == FailureClass::startup_failed &&
        ended.spawn_error != 0) {
      sample.failure->detail = fmt::format("cannot run {}: {}", spawn.path, sample.failure->detail);
    }
    if (sample.failure) return;
    auto& metrics = sample.metrics;
    const double latency = static_cast<double>(ended.ended_ns - ended.started_ns) * 1e-9;
    metrics["latency_s"] = latency;
    const double user = seconds(ended.usage.ru_utime), system = seconds(ended.usage.ru_stime);
    metrics["user_s"] = user;
    metrics["system_s"] = system;
    metrics["cpu_s"] = user + system;
    if (ended.rss_peak_bytes > 0) {
      metrics["rss_peak_bytes"] = static_cast<double>(ended.rss_peak_bytes);
    } else {
      absent_["rss_peak_bytes"] = "it is not above what genscope itself takes";
    }
    if (ended.read_bytes && ended.write_bytes) {
      metrics["io_read_bytes"] = static_cast<double>(*ended.read_bytes);
      metrics["io_write_bytes"] = static_cast<double>(*ended.write_bytes);
    } else {
      absent_["io_read_bytes"] = absent_["io_write_bytes"] = "this kernel does not count it";
    }
    fill_own_time(ended, latency, user + system, metrics);
  }

  void fill_own_time(const Ended& ended, double latency, double cpu,
                     std::map<std::string, double>& metrics) {
    if (!ended.first_thread_cpu_s || !ended.first_thread_wait_s) {
      absent_["own_s"] = "the kernel does not say how long it waited for a CPU";
    } else if (*ended.first_thread_cpu_s < kOwnShare * cpu) {
      absent_["own_s"] = "its first thread did less than 90 % of the work";
    } else if (latency > *ended.first_thread_wait_s) {
      metrics["own_s"] = latency - *ended.first_thread_wait_s;
    }
  }

  void open_cycles() {
    if (cycles_asked_) return;
    cycles_asked_ = true;
    std::string why;
    cycles_ = CycleCounter::open(why);
    if (!cycles_) absent_["cycles"] = absent_["instructions"] = why;
  }

  void fill_counts(const std::optional<CpuCounts>& counts, std::map<std::string, double>& metrics) {
    if (counts) {
      metrics["cycles"] = counts->cycles;
      metrics["instructions"] = counts->instructions;
    } else if (cycles_) {
      absent_["cycles"] = absent_["instructions"] = "the counters were shared with others";
    }
  }

  void open_gpu() {
    if (gpu_asked_) return;
    gpu_asked_ = true;
    std::string why;
    gpu_ = GpuMeter::shared(why);
    if (!gpu_) absent_["energy_j"] = absent_["energy_net_j"] = absent_["vram_peak_bytes"] = why;
  }

  void take_gpu(Sample& sample) {
    const GpuUse use = gpu_->end();
    if (sample.failure) return;
    const auto set = [&](const char* metric, const std::optional<double>& value, const char* why) {
      if (value) {
        sample.metrics[metric] = *value;
      } else {
        absent_[metric] = why;
      }
    };
    set("energy_j", use.energy_j, "a run is too short for the GPU's counter, or it has none");
    set("energy_net_j", use.energy_net_j, "the power of the idle GPUs is not known");
    if (use.energy_idle_j) sample.metrics["energy_idle_j"] = *use.energy_idle_j;
    set("vram_peak_bytes", use.vram_peak_bytes, "no GPU memory was taken, or runs are too short");
    if (use.util_ratio) sample.metrics["gpu_util_ratio"] = *use.util_ratio;
  }

  void take_outputs(const Params& values, std::int64_t began_unix_ns, Sample& sample) {
    if (!outputs_) outputs_ = std::make_unique<OutputFiles>(options_.keep_outputs);
    for (const std::string& output : options_.outputs) {
      std::string path = expand(output, values);
      if (!options_.cwd.empty() && !path.starts_with('/')) path = options_.cwd + "/" + path;
      Result<std::string> copy = outputs_->take(path, began_unix_ns);
      if (copy) {
        sample.failure = check_output(*copy);
        sample.outputs.push_back(std::move(*copy));
      } else {
        sample.failure = Failure{FailureClass::bad_output, copy.error().message};
      }
      if (sample.failure) return;
    }
  }

  void take_stages(const std::string& run, Sample& sample) {
    if (!record_ && !sample.failure) record_ = RunFolder::has_trace(run);
    RecordedStages found = folder().take(run);
    sample.stages = std::move(found.stages);
    sample.steps_s = std::move(found.steps_s);
  }

  CommandOptions options_;
  std::optional<std::uint64_t> oom_kills_;
  std::optional<bool> record_;  // absent: not known yet
  std::unique_ptr<RunFolder> folder_;
  std::map<std::string, std::string> absent_;
  std::mt19937_64 random_{1};
  Params env_key_;
  std::vector<std::string> base_env_;
  std::string program_;
  ProcessRunner runner_;
  Spawn spawn_;  // of the last iteration
  std::shared_ptr<GpuMeter> gpu_;
  bool gpu_asked_ = false;
  std::unique_ptr<CycleCounter> cycles_;
  bool cycles_asked_ = false;
  std::unique_ptr<OutputFiles> outputs_;
};

}  // namespace

std::unique_ptr<Subject> command_subject(CommandOptions options) {
  return std::make_unique<CommandSubject>(std::move(options));
}

}  // namespace genscope::bench

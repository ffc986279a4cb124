// genscope bench gpu
#include <fmt/format.h>

#include "bench/output/words.h"
#include "bench/run/quantities.h"
#include "bench/validate/gpu_watch.h"
#include "bench/validate/success.h"
#include "cli/bench/prompted.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"
#include "watch/probe_child.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kGpuFooter =
    "Runs the command again and again and watches the GPUs: how busy they are, how much of\n"
    "their memory is in use. What the driver does not tell is absent, with the reason; a\n"
    "target about it is then missed. Nothing is added between runs.\n\n"
    "Examples:\n"
    "  genscope bench gpu 'python gen.py'\n"
    "  genscope bench gpu 'python gen.py' --duration 2m --min-busy 85% --json\n\n"
    "Exit codes, the first that applies:\n"
    "  2    usage\n"
    "  7    nothing was measured: the command never succeeded\n"
    "  5    the environment: no GPU, and a target about it; no space, an I/O error\n"
    "  4    a run failed\n"
    "  1    a target is missed\n"
    "  0    all passed\n"
    "  130  interrupted; what was measured is shown\n";

std::string share_text(const core::GpuFigure& figure) {
  if (!figure.mean) return "not known: " + figure.absent;
  return fmt::format("{:.1f} % (least {:.1f}, most {:.1f})", *figure.mean * 100, *figure.min * 100,
                     *figure.max * 100);
}

Json figure_json(const core::GpuFigure& figure) {
  if (!figure.mean) return {{"absent", figure.absent}};
  return {{"mean", *figure.mean},
          {"min", *figure.min},
          {"max", *figure.max},
          {"readings", figure.count}};
}

class Gpu final : public Command {
 public:
  const char* name() const override { return "gpu"; }
  const char* summary() const override { return "Keep it busy: how much of the GPU it uses"; }
  void add_options(Options& options) override {
    options.add("CMD", what_, "", "Command for the shell, or a URL").required();
    options.add("--duration", duration_, "TIME", "How long: 30s, 2m").show_default();
    options.add("--interval", interval_, "TIME", "Between readings").show_default();
    prompts_.add_options(options);
    options.add("--min-busy", busy_text_, "SHARE", "Share of the time that GPUs must be busy: 85%");
    options.add("--min-memory", memory_text_, "SHARE", "Share of their memory that must be in use");
    outputs_.add_options(options);
    options.footer(kGpuFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (const Status checked = check(); !checked) return checked.error();
    const Interruptible interruptible;
    core::BenchResult result = begin_result("gpu", 1);
    result.labels["A"] = what_;
    const auto subject = prompts_.subject(what_);
    SamplerOptions sampling;
    sampling.fast_ns = static_cast<std::int64_t>(interval_s_ * 1e9);
    const std::vector<std::string> names(gpu_probes().begin(), gpu_probes().end());
    auto probes = watch::make_probes(names, probe_options_from_environment(), sampling);
    if (!probes) return probes.error();
    core::GpuWatch watch(std::move(*probes), interval_s_);
    if (const Status started = watch.start(); !started) return started.error();
    core::PromptOptions options = prompts_.prompt_options();
    options.duration_s = duration_s_;
    if (options.prompts.empty()) options.prompts = {"A beautiful landscape"};
    ProgressLine line(globals);
    std::size_t failed = 0;  // from the first on: it would be started thousands of times
    result.cells.push_back(core::run_prompts(
        *subject, options, [&](const core::Sample& sample, std::size_t done, std::size_t) {
          line.tell(fmt::format("{} runs", done));
          failed += sample.failure ? 1 : 0;
          return !core::cancelled() && !(failed == done && done >= 3);
        }));
    return report(watch.stop(), result);
  }

 private:
  Status check() {
    if (const Status checked = prompts_.check(); !checked) return checked;
    const auto time = [](const char* option, const std::string& text, double& out) -> Status {
      const auto found = core::duration_in(text);
      if (found && *found > 0) {
        out = *found;
        return Done{};
      }
      return Error{ErrorCode::invalid_argument,
                   fmt::format("{} {}: not a time; write 30s, 2m or 100ms", option, text)};
    };
    if (const Status read = time("--duration", duration_, duration_s_); !read) return read;
    if (const Status read = time("--interval", interval_, interval_s_); !read) return read;
    for (const auto& [option, text, out] : {std::tuple("--min-busy", &busy_text_, &busy_),
                                            std::tuple("--min-memory", &memory_text_, &memory_)}) {
      if (!text->empty() && !(*out = core::share_in(*text))) {
        return Error{ErrorCode::invalid_argument,
                     fmt::format("{} {}: not a share; write 85% or 0.85", option, *text)};
      }
    }
    return Done{};
  }

  Result<int> report(const core::GpuWatched& watched, core::BenchResult& result) {
    const std::vector<double> times = good_values(result.cells[0], 'A', "latency_s");
    const auto rate = core::success_rate(result.cells);
    judge(watched, rate, result);
    std::string text =
        rate ? core::success_words(*rate) + fmt::format(", in {:.1f} s\n", watched.seconds) : "";
    text += fmt::format("time of a run: {}\n", time_words(times));
    Json gpus = Json::array();
    for (const core::WatchedGpu& gpu : watched.gpus) {
      text += fmt::format("{}\n  busy    {}\n", gpu.name, share_text(gpu.busy_ratio));
      const auto efficiency = gpu.memory_efficiency();
      text += efficiency ? fmt::format("  memory  {:.1f} % of {:.1f} GB in use (most {:.1f} GB)\n",
                                       *efficiency * 100, *gpu.memory_total_bytes / 1e9,
                                       *gpu.memory_used_bytes.max / 1e9)
                         : fmt::format("  memory  not known: {}\n", gpu.memory_used_bytes.absent);
      if (gpu.power_watts.mean) text += fmt::format("  power   {:.0f} W\n", *gpu.power_watts.mean);
      gpus.push_back(
          {{"name", gpu.name},
           {"driver", gpu.driver},
           {"busy_ratio", figure_json(gpu.busy_ratio)},
           {"memory_used_bytes", figure_json(gpu.memory_used_bytes)},
           {"memory_total_bytes", gpu.memory_total_bytes ? Json(*gpu.memory_total_bytes) : Json()},
           {"memory_efficiency_ratio", efficiency ? Json(*efficiency) : Json()},
           {"power_watts", figure_json(gpu.power_watts)}});
    }
    if (watched.gpus.empty()) text += fmt::format("GPU: not known: {}\n", watched.absent);
    Json finding{
        {"seconds", watched.seconds}, {"gpus", std::move(gpus)}, {"latency_s", figures(times)}};
    if (watched.gpus.empty()) finding["absent"] = {{"gpus", watched.absent}};
    if (watched.seconds > 0) {
      finding["runs_per_second"] = static_cast<double>(times.size()) / watched.seconds;
    }
    return outputs_.finish(result, "genscope.bench_gpu/1", text, std::move(finding));
  }

  void judge(const core::GpuWatched& watched, const std::optional<core::SuccessRate>& rate,
             core::BenchResult& result) {
    const auto add = [&](int code, std::string reason) {
      result.exit.code = core::worse_exit(result.exit.code, code);
      result.exit.reasons.push_back(std::move(reason));
    };
    if (!rate || rate->successes == 0) {
      const auto& units = result.cells[0].units;
      std::string why;
      if (!units.empty()) {
        const auto& failure = units[0].failure           ? units[0].failure
                              : units[0].samples.empty() ? units[0].failure
                                                         : units[0].samples[0].failure;
        if (failure) why = ": " + failure->detail;
      }
      add(core::kNothingMeasured, "Nothing was measured" + why + ".");
    } else if (rate->successes < rate->trials) {
      add(core::kProductFailed,
          fmt::format("{} of {} runs failed.", rate->trials - rate->successes, rate->trials));
    }
    if ((busy_ || memory_) && watched.gpus.empty()) {
      return add(core::kUnfit, "There is a target about the GPU, and no GPU.");
    }
    for (const core::WatchedGpu& gpu : watched.gpus) {
      if (busy_) {
        result.targets.push_back(least_target("gpu_util_ratio", "mean", *busy_, gpu.busy_ratio.mean,
                                              {}, gpu.busy_ratio.absent));
      }
      if (memory_) {
        result.targets.push_back(least_target("gpu_memory_util_ratio", "mean", *memory_,
                                              gpu.memory_efficiency(), {},
                                              gpu.memory_used_bytes.absent));
      }
      target("busy", busy_, gpu.busy_ratio.mean, gpu.name, add);
      target("memory in use", memory_, gpu.memory_efficiency(), gpu.name, add);
    }
  }

  template <class Add>
  static void target(const char* what, const std::optional<double>& least,
                     const std::optional<double>& value, const std::string& gpu, const Add& add) {
    if (!least || (value && *value >= *least)) return;
    add(core::kVerdictFailed,
        value ? fmt::format("{}: {} {:.1f} %, at least {:g} % is wanted.", gpu, what, *value * 100,
                            *least * 100)
              : fmt::format("{}: {} is not known, and a target asks for it.", gpu, what));
  }

  std::string what_, duration_ = "30s", interval_ = "100ms", busy_text_, memory_text_;
  double duration_s_ = 30, interval_s_ = 0.1;
  std::optional<double> busy_, memory_;
  PromptFlags prompts_;
  FindingOutputs outputs_;
};

}  // namespace

std::unique_ptr<Command> make_gpu() { return std::make_unique<Gpu>(); }

}  // namespace genscope::cli::bench

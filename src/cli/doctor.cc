// genscope doctor
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include <genscope/probe.h>

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/doctor/findings.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "watch/probe_child.h"
#include "watch/python.h"
#include "watch/python_trouble.h"

namespace genscope::cli {
namespace {

// Quick enough for a few samples of each tier, slow enough that caches are as cold as in a run.
SamplerOptions sampling() {
  SamplerOptions options;
  options.fast_ns = 100'000'000;
  options.normal_ns = 250'000'000;
  options.slow_ns = 500'000'000;
  options.budget_ratio = 1;  // nothing is slowed down while its cost is measured
  return options;
}

class Doctor final : public Command {
 public:
  const char* name() const override { return "doctor"; }
  const char* summary() const override { return "Say which probes work here, and what would help"; }

  void add_options(Options& options) override {
    options.flag("--json", json_, "Print one JSON document");
    options.footer(
        std::string("Opens every probe, samples for two seconds, and prints for each whether\n"
                    "it works, is absent, denied or broken, why, the remedy, and what it\n"
                    "costs. A missing sensor is not a failure: the exit code is 0.\n\n"
                    "Examples:\n"
                    "  genscope doctor\n"
                    "  genscope doctor --json | jq '.probes[] | {name, state, remedy}'\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    const Result<doctor::Findings> findings = examine();
    if (!findings) return findings.error();
    Result<Output> output = Output::open("-");
    if (!output) return output.error();
    const watch::Look look = {.width = static_cast<std::size_t>(base::output_width()),
                              .color = base::use_color(globals.color),
                              .unicode = base::output_is_utf8()};
    output->sink()(json_ ? doctor::findings_json(*findings)
                         : doctor::findings_text(*findings, look));
    return kFine;
  }

 private:
  static Result<doctor::Findings> examine() {
    using namespace std::chrono_literals;
    constexpr auto kExamined = 2s;
    ProbeOptions options = probe_options_from_environment();
    options.pid = getpid();
    const std::vector<std::string> names = watch::all_probe_names();
    Result<std::vector<std::unique_ptr<Probe>>> probes =
        watch::make_probes(names, options, sampling());
    if (!probes) return probes.error();
    Sampler sampler(sampling());
    for (std::unique_ptr<Probe>& probe : *probes) sampler.add(std::move(probe));
    if (const Status started = sampler.start(); !started) return started.error();
    std::this_thread::sleep_for(kExamined);
    doctor::Findings findings;
    findings.snapshot = sampler.snapshot();
    findings.python = watch::try_python("python3", watch::find_injection());
    findings.probes = with_summaries(watch::named_reports(sampler, names));
    return findings;
  }

  // Reports come in the order in which the probes were added: that of all_probes().
  static std::vector<doctor::ProbeFinding> with_summaries(std::vector<ProbeReport> reports) {
    const auto known = all_probes();
    std::vector<doctor::ProbeFinding> findings;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      doctor::ProbeFinding finding;
      finding.report = std::move(reports[i]);
      if (i < known.size()) {
        finding.summary = known[i].summary;
        finding.in_child = known[i].loads_driver_code;
      }
      // Of a child we measured the pipe to it, not its work; of one that does not work, nothing.
      if (finding.in_child || finding.report.state.kind != ProbeState::Kind::works) {
        std::fill_n(finding.report.tier_cpu_ns, kTiers, 0);
      }
      findings.push_back(std::move(finding));
    }
    return findings;
  }

  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace genscope::cli

// The options with which commands are measured: `bench CMD`, `bench ab`, and who else runs
// commands.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <genscope/bench.h>

#include "cli/bench/session.h"
#include "cli/command.h"

namespace genscope::cli::bench {

class MeasureFlags {
 public:
  void add_options(Options& options);
  // What the parser cannot see: durations, parameters. Before run().
  Status check();
  // All that will run: decides whether a shell is needed. Without one they must be words.
  Status check_commands(const std::vector<std::string>& commands);

  core::MeasureOptions measure_options() const;
  core::CommandOptions command_options(const std::string& command) const;
  // Parameters that are in no word of the commands: the programs may read them from the
  // environment, or all cells measure the same.
  std::vector<std::string> unused_parameters(const std::vector<std::string>& commands) const;
  // The product of the parameters, in their order; one empty point without any.
  std::vector<core::Params> points() const;

  std::uint64_t seed() const { return seed_; }
  bool strict() const { return strict_; }
  bool verbose() const { return verbose_; }
  bool compares_outputs() const { return !outputs_.empty(); }
  const core::QualityOptions& quality() const { return quality_options_; }
  double effect() const { return effect_percent_ / 100; }

  // Started once before everything, stopped after it.
  struct SetupOnce {
    std::string command, ready_url, ready_file;
    std::optional<int> ready_port;
    double timeout_s = 300;
  };
  const SetupOnce& setup_once() const { return setup_; }

 private:
  Status check_parameters() const;
  Status check_names(const std::vector<std::string>& commands) const;
  bool any_needs_shell(const std::vector<std::string>& commands) const;
  // Commands and what goes with them: whatever has {NAME} replaced.
  std::vector<std::string> texts(const std::vector<std::string>& commands) const;

  std::optional<std::uint64_t> units_, min_units_, max_units_;
  std::uint64_t warmup_ = 3;
  std::string budget_ = "2m";
  std::string timeout_;
  std::optional<double> budget_s_, timeout_s_;
  std::vector<std::pair<std::string, std::string>> parameters_;
  std::string prepare_, cleanup_;
  SetupOnce setup_;
  std::string setup_timeout_ = "5m";
  double effect_percent_ = 1;
  bool ignore_failure_ = false, strict_ = false, verbose_ = false;
  bool no_shell_ = false, record_ = false, no_record_ = false;
  bool direct_ = false;  // without a shell
  std::string shell_;
  std::string order_ = "abba";
  std::string show_ = "none";
  std::string keep_runs_, keep_outputs_;
  std::vector<std::string> outputs_, quality_rules_;
  core::QualityOptions quality_options_;
  std::uint64_t seed_ = 1;
};

}  // namespace genscope::cli::bench

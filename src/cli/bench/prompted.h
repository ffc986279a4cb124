// What `bench e2e`, `bench gpu` and `bench vlm` share: the thing under test, its prompts, and how
// their own findings are printed beside the result.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/suite/suite.h"
#include "bench/validate/prompts.h"
#include "cli/bench/ci_flags.h"
#include "cli/bench/session.h"
#include "cli/bench/tls_flags.h"
#include "cli/command.h"

namespace genscope::cli::bench {

using Json = nlohmann::ordered_json;

class PromptFlags {
 public:
  void add_options(Options& options);
  // Reads the prompts; wrong words are found before anything runs.
  Status check();
  core::PromptOptions prompt_options() const;
  // Of a command, or of a URL. {prompt} in a command is always one word,
  // whatever is in it.
  std::unique_ptr<core::Subject> subject(const std::string& what) const;
  // Of what a suite runs; its prompts and seeds are taken where none were given.
  Result<std::unique_ptr<core::Subject>> subject(const core::Suite& suite);
  const std::vector<std::string>& prompts() const { return prompts_; }
  std::vector<std::int64_t> seeds() const { return seeds_; }
  std::optional<double> timeout_s() const { return timeout_s_; }
  std::uint64_t warmup() const { return warmup_; }
  const std::string& model() const { return model_; }
  const TlsFlags& tls() const { return tls_; }

 private:
  std::vector<std::string> prompts_, outputs_;
  std::string file_, timeout_, seeds_text_, endpoint_, model_;
  std::uint64_t repeat_ = 1, warmup_ = 1;
  std::vector<std::int64_t> seeds_;
  std::optional<double> timeout_s_;
  TlsFlags tls_;
};

// How far it is, on one line of a terminal; gone with it.
class ProgressLine {
 public:
  explicit ProgressLine(const Globals& globals);
  ~ProgressLine();
  void tell(const std::string& text);

 private:
  bool on_ = false;
};

bool is_url(const std::string& what);
// A suite file: for its command or endpoint, prompts and cells.
bool is_suite(const std::string& what);
// "{prompt}", quoted or not, becomes "$GENSCOPE_PARAM_prompt" for the shell; so does {image}.
std::string with_safe_words(std::string command);

// Where the findings go: text or JSON on stdout, the result itself to --export json=PATH.
class FindingOutputs {
 public:
  void add_options(Options& options);
  // `finding` gets the keys schema, exit and result. The exit code.
  Result<int> finish(core::BenchResult& result, const char* schema, const std::string& text,
                     Json finding) const;

 private:
  std::string export_;
  bool json_ = false;
  CiFlags ci_;
};

// A limit on a figure of the whole, as results have it, for the summary and the tests of CI. The
// bad end of the interval has to keep it. Of a value that is absent, `why` says why.
core::TargetResult least_target(const std::string& metric, const char* stat, double least,
                                const std::optional<double>& value,
                                const std::optional<stats::Interval>& interval,
                                const std::string& why = "nothing was measured");
core::TargetResult most_target(const std::string& metric, const char* stat, double most,
                               const std::optional<double>& value,
                               const std::optional<stats::Interval>& interval);

// {n, median, mean, ci, min, max} over seconds or any other figure; null without values.
Json figures(const std::vector<double>& values);
// "1.23 s (95 %: 1.20 to 1.26)".
std::string time_words(const std::vector<double>& values);
std::vector<double> good_values(const core::Cell& cell, char slot, const std::string& metric);

}  // namespace genscope::cli::bench

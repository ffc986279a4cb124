// What every verb that measures does around it: the result's head and end, interrupts, outputs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <genscope/bench.h>
#include <genscope/error.h>

#include "cli/bench/ci_flags.h"
#include "cli/command.h"

namespace genscope::cli::bench {

namespace core = genscope::bench;

// A result with what is known before measuring: id, time, words of the command line, version, git,
// environment.
core::BenchResult begin_result(std::string_view verb, std::uint64_t seed);

// While it lives, Ctrl-C and SIGTERM end what is measured (core::cancel()) instead of this program.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
};

// Where the result goes beside the text on stdout.
class ResultOutputs {
 public:
  // `place` is where the files of --ci go unless --ci-dir says so.
  void add_options(Options& options, const std::string& place = "this folder");
  // Wrong words are found before anything runs.
  Status check() const;
  // Sets the end and the exit code, writes everything, keeps it for history, prints the text or the
  // JSON. The exit code.
  Result<int> finish(core::BenchResult& result, bool strict, const Globals& globals) const;
  // The same with another text.
  using Text = std::function<std::string(const core::BenchResult&)>;
  Result<int> finish(core::BenchResult& result, bool strict, const Text& text) const;
  // Of a result that is finished.
  Status write_exports(const core::BenchResult& result) const;
  const CiFlags& ci() const noexcept { return ci_; }
  bool json() const noexcept { return json_; }
  bool keep() const noexcept { return keep_; }

 private:
  struct Export {
    std::string format, path;
  };
  Result<std::vector<Export>> exports() const;

  std::vector<std::string> exports_;
  CiFlags ci_;
  bool json_ = false;
  bool keep_ = true;
};

}  // namespace genscope::cli::bench

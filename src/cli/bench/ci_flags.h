// --ci: the files, summary and annotations that a CI job shows, the same for every verb that has a
// result.
#pragma once

#include <string>

#include "bench/output/output.h"
#include "cli/command.h"

namespace genscope::cli::bench {

class CiFlags {
 public:
  // `place` says where the files go unless --ci-dir does: "this folder".
  void add_options(Options& options, const std::string& place = "this folder");
  // Writes what the job needs into --ci-dir, else into `folder`. Annotations go to stdout, after
  // what the verb printed; where that is for a program (`json`), to stderr, which GitHub reads too.
  // Nothing without --ci, or where `auto` finds no CI.
  Status write(const genscope::bench::BenchResult& result, bool json,
               const std::string& folder = ".") const;
  bool wanted() const { return ci_ != "none"; }

 private:
  std::string ci_ = "none", folder_;
};

}  // namespace genscope::cli::bench

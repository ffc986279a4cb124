#include "cli/bench/ci_flags.h"

#include <cstdio>

#include "cli/bench/printing.h"

namespace genscope::cli::bench {

namespace core = genscope::bench;

void CiFlags::add_options(Options& options, const std::string& place) {
  options
      .add("--ci", ci_, "WHERE",
           "Summary, annotations, JUnit and JSON for a CI job: auto, github, gitlab or none")
      .one_of({"auto", "github", "gitlab", "none"})
      .show_default();
  options.add("--ci-dir", folder_, "DIR", "Where those files go; default: " + place);
}

Status CiFlags::write(const core::BenchResult& result, bool json, const std::string& folder) const {
  const Result<core::Ci> ci = core::ci_of(ci_);
  if (!ci) return ci.error();
  if (*ci == core::Ci::none) return Done{};
  std::string annotations;
  const auto written = core::write_ci_files(result, *ci, folder_.empty() ? folder : folder_,
                                            [&](std::string_view piece) { annotations += piece; });
  if (!written) return written.error();
  if (!json) return print_text(annotations);
  std::fputs(annotations.c_str(), stderr);
  return Done{};
}

}  // namespace genscope::cli::bench

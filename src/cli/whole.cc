#include "cli/whole.h"

#include <genscope/report.h>
#include <genscope/store.h>

#include "cli/output.h"

namespace genscope::cli {

Result<WholeRun> read_whole(const std::string& path) {
  Result<Run> run = read_run(path);
  if (!run) return run.error();
  return whole_of(std::move(*run));
}

Status write_html(const WholeRun& whole, const std::string& path) {
  Result<Output> output = Output::open(path);
  if (!output) return output.error();
  try {
    report_html(whole.run, whole.analysis, whole.advice, output->sink());
  } catch (const OutputFailure& failure) {
    return failure.error;
  }
  return output->commit();
}

}  // namespace genscope::cli

#include "bench/machines/cell.h"

#include <filesystem>

#include "base/file.h"
#include "bench/machines/gather.h"

namespace genscope::bench {

Result<CellRun> run_cell(const Plan& plan, std::size_t index, const CellOptions& options) {
  const PlanCell& cell = plan.cells[index];
  if (!options.again && cell_is_done(plan, cell, options.folder)) {
    return CellRun{.was_done = true, .result_path = {}, .exit = {}};
  }
  const Result<Suite> suite = suite_of(plan);
  if (!suite) return suite.error();
  const std::string folder = options.folder + "/" + cell_folder(cell.id) + "/" + attempt_name();
  if (const Status made = base::make_directories(folder); !made) return made.error();
  SuiteOptions run;
  run.seed = plan.seed;
  run.cells = {cell.id};
  run.keep = false;  // it is a part; gather() has the whole
  run.out = folder + "/work";
  Result<SuiteRun> done = run_suite(*suite, run);
  if (!done) return done.error();
  CellRun report;
  report.exit = done->result.exit;
  if (done->interrupted) {
    report.exit.code = kInterrupted;
    return report;
  }
  report.result_path = folder + "/result.json";
  if (const Status written = write_result(done->result, report.result_path); !written) {
    return written.error();
  }
  std::error_code ignored;
  std::filesystem::remove_all(run.out, ignored);
  return report;
}

}  // namespace genscope::bench

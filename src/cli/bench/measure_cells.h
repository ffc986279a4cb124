// Measures commands cell by cell into a result.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <genscope/bench.h>

#include "cli/bench/measure_flags.h"
#include "cli/command.h"

namespace genscope::cli::bench {

struct CellPlan {
  std::string id, title;
  core::Params params;
  std::vector<std::string> commands;  // one, or A and B
  std::size_t turn = 0;               // plans of one command with the same turn run in turns
};

class CellMeasurer {
 public:
  CellMeasurer(const MeasureFlags& flags, const Globals& globals)
      : flags_(flags), globals_(globals) {}
  // Fills cells, comparisons and quality of a result whose labels are set. Ends early when
  // interrupted. An error if what --setup-once starts does not get ready.
  Status run(const std::vector<CellPlan>& plans, core::BenchResult& result);

 private:
  core::Subject& subject_of(const std::string& command);
  void note_unused(const std::vector<CellPlan>& plans) const;

  // Files that subjects made are compared in the end: they live until then.
  std::vector<std::unique_ptr<core::Subject>> subjects_;
  const MeasureFlags& flags_;
  const Globals& globals_;
};

}  // namespace genscope::cli::bench

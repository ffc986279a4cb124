// What the user decided: which result is a baseline, which change of level is accepted. One small
// file each, in <runs>/bench/baselines and <runs>/bench/accepted, written whole: two who decide at
// once do not undo one another, and the index is rebuilt from them.
#pragma once

#include <string>
#include <vector>

#include <genscope/error.h>

#include "store/history/index.h"

namespace genscope::bench {

using store::history::AcceptedRow;
using store::history::BaselineRow;

struct Decisions {
  std::vector<BaselineRow> baselines;  // by name
  std::vector<AcceptedRow> accepted;   // by run, cell, metric
  std::vector<std::string> problems;   // files that cannot be read, in sentences
};
Decisions read_decisions(const std::string& runs);

// 1 to 64 of [A-Za-z0-9._-], not one of the words by which results are found. An error says why.
Status check_baseline_name(const std::string& name);
Status write_baseline(const std::string& runs, const BaselineRow& baseline);
Result<bool> remove_baseline(const std::string& runs, const std::string& name);  // whether it was
Status write_accepted(const std::string& runs, const AcceptedRow& accepted);

}  // namespace genscope::bench

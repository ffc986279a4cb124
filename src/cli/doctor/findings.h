// What `genscope doctor` found, as plain data, and its two outputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <genscope/probe.h>

#include "watch/cells.h"
#include "watch/python_trouble.h"

namespace genscope::cli::doctor {

struct ProbeFinding {
  ProbeReport report;
  std::string summary;    // of all_probes()
  bool in_child = false;  // it loads driver code, so a child of ours runs it
};

struct Findings {
  std::vector<ProbeFinding> probes;
  std::optional<watch::PythonTrouble> python;  // why `python3` gets no hooks; none if it does
  Snapshot snapshot;
};

// Share of one core that a probe takes at the default rates: the cost of one sample of each tier
// by its period. What runs only on demand does not count. 0: not known.
double core_ratio(const ProbeReport& report);
// What the children together take, by their own account and at the rates they run at; 0: not known.
double children_core_ratio(const Snapshot& snapshot);

// A table of the probes, what is wrong with those that do not work, and what is not read.
std::string findings_text(const Findings& findings, const watch::Look& look);
// One JSON document (docs/doctor.md), with a newline.
std::string findings_json(const Findings& findings);

// Series that have no value, together where entity, status and reason are the same.
struct Gap {
  std::uint32_t entity = 0;
  SampleStatus status = SampleStatus::absent;
  std::string reason;  // may be empty
  std::vector<std::string> metrics;
};
std::vector<Gap> gaps(const Snapshot& snapshot);

}  // namespace genscope::cli::doctor

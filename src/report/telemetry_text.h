// What the samples of a run say, as lines for people: process, machine, GPUs, energy.
#pragma once

#include <string>
#include <vector>

#include <genscope/analyze.h>

#include "report/table.h"

namespace genscope::report {

// Label and value, in the order to show them: of the process tree, the control group, the machine.
struct Fact {
  std::string label, value;
};
std::vector<Fact> usage_facts(const Analysis& analysis);

// "62% on a CPU, 20% ready for one, 3% on storage, 15% asleep or waiting"; "" if nothing is known.
// Shares that round to nothing are left out.
std::string time_text(const TimeSplit& time);

// One row per GPU and CPU package; empty if there is none. Unknown is "n/a".
Table device_table(const Telemetry& telemetry);

// One row per series of the program's own probes, in its unit; empty if there is none.
Table own_metrics_table(const Telemetry& telemetry);

// Allocators, doubts about energy, devices that were lost, figures that are missing: sentences.
std::vector<std::string> telemetry_sentences(const Telemetry& telemetry);

}  // namespace genscope::report

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

// One row per GPU and CPU package; empty if there is none. Unknown is "n/a".
Table device_table(const Telemetry& telemetry);

// Allocators, doubts about energy, devices that were lost, figures that are missing: sentences.
std::vector<std::string> telemetry_sentences(const Telemetry& telemetry);

// "power cap, thermal": the words for the bits of throttle_reasons that are faults.
std::string throttle_words(std::uint64_t bits);

}  // namespace genscope::report

// The live block: what `genscope run` shows while the command runs. A pure function from what is
// known to lines of text; live_screen.h brings them to the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <genscope/probe.h>
#include <genscope/store.h>

#include "watch/cells.h"
#include "watch/trail.h"

namespace genscope::watch {

struct LiveState {
  std::string command;  // as one line
  double elapsed_seconds = 0;
  Snapshot snapshot;
  Progress progress;                // without genscope's own process
  std::vector<ProbeReport> probes;  // for the reason when there is no GPU
  std::string note;                 // something to say, instead of the reason; usually empty
  Trails trails;
  bool gpus_wanted = true;  // false: GPUs are not watched, and not missed
};

// Adds the snapshot's values to the trails.
void extend_trails(Trails& trails, const Snapshot& snapshot);

// At most 8 lines and one per GPU (from 4 on two or more GPUs share a line), none wider than the
// terminal, and at most `max_lines`: then the last ones are left out.
std::vector<std::string> live_block(const LiveState& state, const Look& look,
                                    std::size_t max_lines);

// The process whose stage is shown: alive, in a stage, with a known number of steps if there is
// one such; or null.
const Progress::Process* shown_process(const Progress& progress);

}  // namespace genscope::watch

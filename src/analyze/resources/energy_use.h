// Energy per thing made.
#pragma once

#include <vector>

#include <genscope/analyze.h>

#include "analyze/resources/readings.h"
#include "analyze/resources/stretches.h"
#include "analyze/settings.h"

namespace genscope::analysis {

// Things that a run made. Absent: nothing tells.
struct Made {
  std::optional<double> images, frames;
};
// Images: what the program says of the whole run ("images"), else its decodings of latents (stage
// vae_decode, those that failed left out) times its "batch", or what its requests say if that is
// more; none without a decoding. Frames: those of the blocks, else the program's "frames" times the
// images; a run that says "frames" above 1 makes clips, not images.
Made things_made(const Run& run, const Settings& settings, const Analysis& analysis);

// A step, request or batch costs the energy of the time in which any ran, over their number. An
// image or a frame costs that of the requests where there are any, else of the run, in both cases
// less the time in which models were loaded: loading is paid once, however many are made.
std::vector<EnergyPerUnit> energy_per_unit(const Readings& readings, const MeteredRows& rows,
                                           const Analysis& analysis, const Made& made);

}  // namespace genscope::analysis

// The time of a run's stages, for the attribution of a difference: parts that do not overlap where
// stages nest.
#pragma once

#include <map>
#include <string>

#include <genscope/trace.h>

namespace genscope::analysis {

struct StagePart {
  double seconds = 0;  // less the stages and loads within it
  double steps = 0;    // directly in it
};
using StageParts = std::map<std::string, StagePart>;

struct RunParts {
  StageParts whole;        // over the run
  StageParts in_requests;  // of these what lies within requests
};

// Of spans of kind stage and load; unfinished and failed ones took their time too. Linear, 8 bytes
// a span.
RunParts stage_parts(const Run& run);

}  // namespace genscope::analysis

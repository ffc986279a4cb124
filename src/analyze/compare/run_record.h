// RunRecord: all that a comparison keeps of a run. Some kilobytes, so that many runs can be
// compared with one in memory at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <genscope/analyze.h>

#include "analyze/compare/run_facts.h"
#include "analyze/compare/samples.h"
#include "analyze/compare/stage_parts.h"

namespace genscope::analysis {

// A value of the whole run.
struct Figure {
  std::string name;
  std::string kind;  // as ChangeRow
  std::string unit;
  double value = 0;
};

struct RunRecord {
  std::string name, id, path;
  std::string program;  // the command's first word, without its folder; empty: not known
  std::int64_t started_unix_ns = 0;
  RunSamples samples;
  RunFacts facts;
  std::vector<Figure> times;  // first step
  std::vector<Figure> costs;  // CPU time, memory, energy
  RunParts parts;

  std::optional<double> wall_ns;
  std::optional<double> cpu_ns;
  // Wall time less what other programs took of it: see own_time() in run_record.cc.
  std::optional<double> own_ns;
  std::optional<double> request_ns;  // the mean of those that finished

  std::string unfinished;  // why it is no whole run; empty: it is one
  std::size_t traces = 0, unclosed = 0;
  std::uint64_t dropped_spans = 0;
  std::optional<double> steady_spread;  // of the middle half of the steady steps: longest over
                                        // shortest, less 1; with 8 of them
  std::vector<std::pair<std::string, double>>
      thin_energy;  // device, share of the time with readings
  std::optional<double> generation_seconds, step_seconds;  // as BeforeAfter
};

using Records = std::vector<const RunRecord*>;  // a side, in the order in which the runs began

RunRecord record_of(const Run& run, const Analysis& analysis);

}  // namespace genscope::analysis

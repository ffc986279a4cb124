// What the first frame of a trace says about its process, and the manifest of a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "genscope/error.h"

namespace genscope::record {

// What only the recorder knows; the rest to_json() asks the system.
struct ProcessFacts {
  std::string trace_id;
  std::uint32_t segment = 0;
  std::string clock;
  double ticks_per_second = 0;
  base::ClockSnapshot started;
  std::string live;  // the live file, relative to the trace's folder if it is in there
  bool keep_newest = false;
  bool keep_args = false;  // the command line as it is, with what looks like a secret
};
std::string to_json(const ProcessFacts& facts);

// Writes run.json unless the run has one.
Status write_manifest(const std::string& run_dir, std::string_view name, bool keep_args);

}  // namespace genscope::record

// Settings of `genscope run`: what the command line says, over what the settings file says.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <genscope/config.h>

#include "watch/telemetry.h"

namespace genscope::watch {

// As typed; empty or 0: not given.
struct RunFlags {
  std::string config, preset;
  std::string out, live;
  std::vector<std::string> probes;
  int interval_ms = 0;
  bool no_gpu = false;
  bool quiet = false;
  bool keep_args = false;
};

struct RunSettings {
  bool enabled = true;  // false: the command is only run
  TelemetryOptions telemetry;
  std::string out;
  std::string live = "auto";
  std::int64_t redraw_ns = 250'000'000;
  bool summary = true;
  bool json_in_run = false;     // write report.json into the run directory
  bool html_in_run = true;      // and report.html
  bool samples_in_run = false;  // write samples.csv there
  std::uint64_t points = 0;     // of one series in samples.csv
  std::string skip;             // spans to leave out, as $GENSCOPE_SKIP has them
  bool keep_args = false;       // command lines as they are, with what looks like a secret
  std::vector<std::pair<std::string, std::string>> tags;
};

// Reads the file if one is named. invalid_argument for an unknown probe or preset.
Result<RunSettings> settings_of(const RunFlags& flags);
// The part without a file.
RunSettings merged_settings(const Config& config, const RunFlags& flags);

}  // namespace genscope::watch

// What a program under test recorded with genscope, iteration by iteration.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <genscope/bench.h>
#include <genscope/trace.h>

namespace genscope::bench {

struct RecordedStages {
  std::map<std::string, StagePart> stages;  // by the usual names: load, text_encode, denoise, ...
  std::vector<double> steps_s;              // of the stage whose steps took longest, in order
};
// Stages and loads of all processes. A stage within another on the same thread counts for itself
// only; one on another thread runs beside it.
RecordedStages stages_of(const Run& run);

// A folder with one run for each iteration, removed with this object unless it is to be kept.
class RunFolder {
 public:
  // `keep`: an existing or new folder that stays; empty: one in $TMPDIR.
  explicit RunFolder(std::string keep);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // A new, empty run directory; empty if none can be made.
  std::string next();
  // What was recorded there. Removes the directory unless it is to be kept.
  RecordedStages take(const std::string& run);
  // Whether a process recorded there.
  static bool has_trace(const std::string& run);

 private:
  std::string path_;
  bool keep_ = false;
  std::size_t count_ = 0;
};

}  // namespace genscope::bench

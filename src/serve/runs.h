// The runs of a folder, found by name: what comes from outside is one name, never a path.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/analyze.h>
#include <genscope/error.h>
#include <genscope/trace.h>

namespace genscope::serve {

struct RunEntry {
  std::string id;  // name of its directory
  std::string path;
  std::string name;  // of the session or command
  std::int64_t started_unix_ns = 0;
  std::int64_t finished_unix_ns = 0;  // 0: it has not, or did not say
  std::optional<int> exit_code;
  bool in_progress = false;  // a process records, by its lock
  RunEnding ending;          // as its report says it
  std::optional<std::int64_t> wall_ns;
  std::vector<std::string> tags;
  std::uint64_t traces = 0, bytes = 0;
};

// Newest first. `folder` holds runs, or is one itself. What is no run of ours, or not ours to read,
// is left out. An error: we cannot look now (out of descriptors, the folder is gone); what is there
// is not known then.
Result<std::vector<RunEntry>> list_runs(const std::string& folder);
// The run in that directory; nothing if it is no run.
Result<std::optional<RunEntry>> run_at(const std::string& path);
Result<std::optional<RunEntry>> find_run(const std::string& folder, std::string_view id);

// These are its tags from now on.
Status tag_run(const RunEntry& run, const std::vector<std::string>& tags);

// What only reading a run tells. `stages`: those with the most time of their own, "denoising 90%".
struct RunFigures {
  std::int64_t wall_ns = 0;
  std::vector<std::string> stages;
  std::uint64_t findings = 0;
  std::string headline;
};

// `genscope.runs/1`; `figures` by id, of those that were read. `paths`: say where each is, which a
// browser need not know.
std::string runs_json(const std::vector<RunEntry>& runs,
                      const std::map<std::string, RunFigures>& figures = {}, bool paths = false);

}  // namespace genscope::serve

// The runs of a folder, found by name: what comes from outside is one name, never a path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  std::uint64_t traces = 0, bytes = 0;
};

// Newest first. `folder` holds runs, or is one itself. What is no run of ours, or not ours to read,
// is left out. An error: we cannot look now (out of descriptors, the folder is gone); what is there
// is not known then.
Result<std::vector<RunEntry>> list_runs(const std::string& folder);
Result<std::optional<RunEntry>> find_run(const std::string& folder, std::string_view id);

// `genscope.runs/1`.
std::string runs_json(const std::vector<RunEntry>& runs);

}  // namespace genscope::serve

// run.json, as whoever makes a run writes it. The recorder writes the same keys (docs/
// trace-format.md) when it is the one who makes the run, and leaves an existing file alone.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <genscope/error.h>
#include <genscope/trace.h>

namespace genscope::store {

// The longest command takes some 400 KiB of it, each byte escaped.
inline constexpr std::size_t kMaxManifestBytes = 1 << 20;

// The text of run.json. bad_data, with its size and what to do, if it is larger than that.
Result<std::string> read_manifest(const std::string& file);

// Gives a run, whose traces are read, the name and the rest that its manifest and its first trace
// say. `path`: of the run's directory, or of the trace file if it has none.
void complete_run(const std::string& path, bool is_directory, Run& run);

// Sets the tags of a run; the manifest's other keys stay.
Status write_tags(const std::string& run_dir, const std::vector<std::string>& tags);

// Where runs go that are not told where: $GENSCOPE_OUT, else genscope-runs.
std::string runs_folder();

inline std::string manifest_path(const std::string& run_dir) { return run_dir + "/run.json"; }

}  // namespace genscope::store

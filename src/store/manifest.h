// run.json, as whoever makes a run writes it. The recorder writes the same keys (docs/
// trace-format.md) when it is the one who makes the run, and leaves an existing file alone.
#pragma once

#include <cstddef>
#include <string>

namespace genscope::store {

inline constexpr std::size_t kMaxManifestBytes = 16 << 20;

inline std::string manifest_path(const std::string& run_dir) { return run_dir + "/run.json"; }

}  // namespace genscope::store

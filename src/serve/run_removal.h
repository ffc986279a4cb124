// Removing runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/error.h>

#include "serve/runs.h"

namespace genscope::serve {

// All that is in its directory.
std::uint64_t folder_bytes(const std::string& path);

// Why that run must stay: it is in progress, or has only just been made; the current folder is in
// it. "" if it may go. Looks at the run as it is now.
std::string why_it_stays(const RunEntry& run);

// Removes the run with its directory, unless it must stay.
Status remove_run(const RunEntry& run);

// Which runs to remove; one of the three.
struct PruneRule {
  std::optional<std::uint64_t> keep;        // all but the newest so many
  std::optional<std::int64_t> older_ns;     // those that began so long ago
  std::optional<std::uint64_t> over_bytes;  // the oldest, until the others take no more
};
// Of `runs`, newest first: those that the rule gives up, oldest first. Tagged runs and those in
// progress stay, but count.
std::vector<RunEntry> to_prune(const std::vector<RunEntry>& runs, const PruneRule& rule,
                               std::int64_t now_unix_ns);

// "30d", "12h", "2w", "45min" in nanoseconds; "5GB", "500MiB" in bytes. Nothing if it is neither.
std::optional<std::int64_t> parse_age(std::string_view text);
std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace genscope::serve

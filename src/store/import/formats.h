// Which format a file has, by its first bytes.
#pragma once

#include <string>

#include <genscope/store.h>

namespace genscope::store {

enum class Format : std::uint8_t { chrome, speedscope, cprofile, torch_memory, nsys };

// Chrome's for all that is none of the others, also for what cannot be read: its reader says why.
Format format_of(const std::string& path, const ImportOptions& options);

// What helps with a file that is known to be of no use as it is: "" or " (export it ...)".
std::string remedy_for(const std::string& path);

}  // namespace genscope::store

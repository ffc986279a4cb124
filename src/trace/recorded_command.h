// The command line as a run keeps it: in run.json and in the head of each trace.
#pragma once

#include <span>
#include <string>

namespace genscope::trace {

// Whether command lines are kept as they are: asked for, or by GENSCOPE_KEEP_ARGS=1.
bool keeps_args(bool asked) noexcept;

// As a JSON array, some 64 KiB of it at most. What looks like a secret is `***` (base/secrets.h)
// unless `keep_args`.
std::string command_json(std::span<const std::string> words, bool keep_args);

}  // namespace genscope::trace

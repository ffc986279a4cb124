// The list of runs for people.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "serve/runs.h"

namespace genscope::serve {

// A row per run: name, when, took, state, stages, findings, tags, size. Columns give way where the
// width is not enough.
std::string runs_text(const std::vector<RunEntry>& runs,
                      const std::map<std::string, RunFigures>& figures, std::size_t width,
                      bool color);

}  // namespace genscope::serve

// Sampled stacks in reports: a line of the first screen, a section, JSON, and files of other tools.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include <genscope/analyze.h>

#include "report/generation_text.h"

namespace genscope::report {

// The functions with the most time of main threads, outside of stages if there are any:
// "41% parse (app.py:12), 22% (import)". "" where nothing was sampled.
std::string sampled_line(const Analysis& analysis);
Section sampled_section(const Analysis& analysis);
// Null where no process sampled.
nlohmann::ordered_json sampled_json(const Sampled& sampled);

}  // namespace genscope::report

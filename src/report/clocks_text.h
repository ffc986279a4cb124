// Which clock the times of a report are of, in words.
#pragma once

#include <string>

#include <genscope/analyze.h>

namespace genscope::report {

// "host", "log", "imported", or "mixed". Device time is apart.
const char* clock_name(const StageRow& row);

// One or two sentences for under a table of stages.
std::string clocks_sentence(const Analysis& analysis);

}  // namespace genscope::report

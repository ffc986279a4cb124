// Targets for people: what was asked, what was measured, the score.
#pragma once

#include <string>

#include <genscope/bench.h>

namespace genscope::bench {

std::string targets_text(const BenchResult& result, std::size_t width, bool color);

}  // namespace genscope::bench

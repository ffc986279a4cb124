// What a suite's runs made, against what another run made of the same prompts and seeds.
#pragma once

#include "bench/suite/suite.h"
#include "bench/suite/targets.h"

namespace genscope::bench {

// Fills `result.quality`. `missing`: the reference that was not found, in a sentence.
void judge_suite_quality(const Suite& suite, const FindBaseline& find, BenchResult& result,
                         std::vector<std::string>& missing);

}  // namespace genscope::bench

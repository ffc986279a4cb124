// Targets of a suite over the cells of a result.
#pragma once

#include <functional>
#include <vector>

#include "bench/suite/suite.h"

namespace genscope::bench {

using FindBaseline = std::function<Result<BenchResult>(const std::string&)>;

// One for each target and cell that was measured; what cannot be said is absent with the reason.
// `missing`: baselines that were not found, in sentences.
std::vector<TargetResult> judge_targets(const Suite& suite, const BenchResult& result,
                                        const FindBaseline& find,
                                        std::vector<std::string>& missing);
// Weighted geometric mean over targets with a score, in all and by metric.
void score_targets(BenchResult& result);

}  // namespace genscope::bench

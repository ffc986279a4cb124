// Results of other tools: import_result() of genscope/bench.h, and several files as one result.
#pragma once

#include <string_view>

#include <genscope/bench.h>

namespace genscope::bench {

// Adds the units of another file of the same tool and machine: another process that ran the same
// benchmarks. Refuses to pool what does not belong together.
Status merge_import(BenchResult& all, const BenchResult& more, std::string_view file);

}  // namespace genscope::bench

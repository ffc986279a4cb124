// What a suite would do.
#pragma once

#include "bench/suite/suite.h"
#include "cli/bench/session.h"
#include "cli/command.h"

namespace genscope::cli::bench {

// Prints cells, those left out with the reason, and how long it takes. The exit code.
Result<int> dry_run(const core::Suite& suite, const core::SuiteOptions& options, bool json,
                    const Globals& globals);

}  // namespace genscope::cli::bench

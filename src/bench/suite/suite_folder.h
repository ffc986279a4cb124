// The folders of a suite's runs: <out>/<suite>-<time>.
#pragma once

#include <string>

#include "bench/suite/suite.h"

namespace genscope::bench {

// The suite's name, fit for a file.
std::string suite_stem(const Suite& suite);
// A new one; made.
Result<std::string> new_suite_folder(const Suite& suite, const std::string& out);
// The newest with a result; empty if there is none.
std::string newest_suite_folder(const Suite& suite, const std::string& out);

}  // namespace genscope::bench

// Runs by name: what a person types for a run, and which run it is.
#pragma once

#include <string>

#include <genscope/error.h>

namespace genscope::serve {

// Where `genscope run` puts runs and where names are looked up: $GENSCOPE_OUT, else genscope-runs.
std::string default_folder();

// The path of the run that `word` names: "" or "last" the newest of `folder`, "last~2" the second
// before it; a path that exists, as it is; the name of a run's directory, or a start of it that no
// other has; the name of a run, then the newest of that name. An error says what there is.
Result<std::string> resolve_run(const std::string& word, const std::string& folder);

}  // namespace genscope::serve

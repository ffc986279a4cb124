// The runs of a side of `genscope compare`, from the words that name them.
#pragma once

#include <string>
#include <vector>

#include <genscope/error.h>

namespace genscope::cli {

// Of each word: a run or a trace file is itself; a folder is all runs in it, at any depth; a name
// with `*`, `?` or `[` that does not exist is a pattern. In the order of the words, then of names.
Result<std::vector<std::string>> runs_of_side(const std::vector<std::string>& words);

}  // namespace genscope::cli

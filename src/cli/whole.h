// A run read and summed up, once for all that is made of it.
#pragma once

#include <string>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/error.h>
#include <genscope/trace.h>

namespace genscope::cli {

Result<WholeRun> read_whole(const std::string& path);

// Writes the HTML report of a run into `path`, whole or not at all.
Status write_html(const WholeRun& whole, const std::string& path);

}  // namespace genscope::cli

// Reading runs: a directory or a trace file becomes a Run or a Trace.
//
// Place in the flow: between what record.h wrote and analyze.h. Reading never writes and needs no
// cooperation of the recording process: a run may be read while it grows and after a crash, when
// what was not yet in the file is taken from the live buffers beside it. Damaged bytes are
// skipped and counted in Trace::integrity; only a file of which nothing can be used is an error.
#pragma once

#include <string>

#include <genscope/error.h>
#include <genscope/trace.h>

namespace genscope {

// `path`: a run directory, or one trace file (then a Run of one Trace).
Result<Run> read_run(const std::string& path);

// One trace file (.gst), with its later segments and its live buffers if they are beside it.
Result<Trace> read_trace(const std::string& path);

}  // namespace genscope

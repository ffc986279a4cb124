// Which files make up a trace: "trace-7-0.gst", then "trace-7-0.1.gst", ...
#pragma once

#include <map>
#include <string>
#include <vector>

#include "genscope/error.h"
#include "genscope/trace.h"

namespace genscope::store {

// The trace files in `folder`: stem ("trace-7-0") -> number of the segment -> path.
using TraceFiles = std::map<std::string, std::map<unsigned, std::string>>;
TraceFiles trace_files(const std::string& folder);  // none if it cannot be listed
Result<TraceFiles> list_trace_files(const std::string& folder);

// The existing segments of the trace that `path` is one of, oldest first; `path` itself if it
// does not follow our naming.
std::vector<std::string> segments_of(const std::string& path);

// The segments of each trace in `folder`, oldest first; traces sorted by name. Lists the folder
// once.
std::vector<std::vector<std::string>> traces_in(const std::string& folder);

Result<Trace> read_segments(const std::vector<std::string>& paths);

// The same for segments that were listed a while ago: a flight recorder may have deleted them
// since.
Result<Trace> read_listed(const std::vector<std::string>& paths);

}  // namespace genscope::store

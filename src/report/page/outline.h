// The outlines of compared runs, as the header of a page has them.
#pragma once

#include <string>

#include <genscope/report.h>

#include "report/page/columns.h"

namespace genscope::report {

std::string outlines_json(const RunOutlines& outlines, Blobs& blobs);

}  // namespace genscope::report

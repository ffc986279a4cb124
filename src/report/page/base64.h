// Base64, as the page's data is in its HTML.
#pragma once

#include <string_view>

#include <genscope/report.h>

namespace genscope::report {

void base64(std::string_view bytes, const Sink& sink);  // RFC 4648, padded, one line

}  // namespace genscope::report

// Text of others for XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace genscope::bench {

// For content and for attributes in double quotes. Printable: control characters, which XML cannot
// hold, become escapes such as \x1b; line breaks stay.
std::string xml_text(std::string_view text);

}  // namespace genscope::bench

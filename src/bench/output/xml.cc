#include "bench/output/xml.h"

#include "base/printable.h"

namespace genscope::bench {

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : base::printable(text, base::Lines::keep)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\r':
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace genscope::bench

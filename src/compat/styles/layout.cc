#include "compat/styles/layout.h"

#include <fmt/format.h>

#include "report/printable.h"

namespace genscope::compat::styles {

std::string document_head(std::string_view title, std::string_view columns) {
  const std::string thick(kDocumentWidth, '=');
  return fmt::format("{}\n{}\n{}\n{}\n{}\n", thick, title, thick, columns,
                     std::string(kDocumentWidth, '-'));
}

std::string document_name(std::string_view name) {
  constexpr std::size_t kColumns = 30;
  const std::string cell = report::shorten(report::printable(name), kColumns);
  return cell + std::string(kColumns - report::columns(cell), ' ');
}

std::string signed_mb(std::optional<double> bytes) {
  return bytes ? fmt::format("{:+.1f}", to_mb(*bytes)) : "n/a";
}
std::string plain_mb(std::optional<double> bytes) {
  return bytes ? fmt::format("{:.1f}", to_mb(*bytes)) : "n/a";
}

}  // namespace genscope::compat::styles

#include "report/clocks_text.h"

#include <fmt/format.h>

#include "report/format.h"

namespace genscope::report {

const char* clock_name(const StageRow& row) {
  const std::uint64_t all = row.count + row.unfinished;
  if (row.log_spans + row.imported_spans == 0) return "host";
  return row.log_spans >= all ? "log" : row.imported_spans >= all ? "imported" : "mixed";
}

std::string clocks_sentence(const Analysis& analysis) {
  std::uint64_t spans = 0, with_device = 0, device_of = 0, from_log = 0, imported = 0;
  for (const StageRow& row : analysis.stages) {
    spans += row.count + row.unfinished;
    from_log += row.log_spans;
    imported += row.imported_spans;
    with_device += row.device_spans;
    if (row.device_ns) device_of += row.count + row.unfinished;
  }
  std::string text = from_log >= spans   ? "Times are when lines of the log came."
                     : imported >= spans ? "Times are as the imported file has them."
                                         : "Times are of the host's clock.";
  if (from_log > 0 && from_log < spans) {
    text += fmt::format(" Those of {} are when lines of the log came.",
                        counted(from_log, "span", "spans"));
  }
  if (imported > 0 && imported < spans) {
    text += fmt::format(" Those of {} are as the imported file has them.",
                        counted(imported, "span", "spans"));
  }
  if (with_device > 0) {
    text += fmt::format(" Device time is of the device's own clock, of {} of {} in its rows.",
                        count(with_device), counted(device_of, "span", "spans"));
  }
  return text;
}

}  // namespace genscope::report

#include "report/clocks_text.h"

#include <fmt/format.h>

#include "report/format.h"

namespace genscope::report {

const char* clock_name(const StageRow& row) {
  if (row.log_spans == 0) return "host";
  return row.log_spans >= row.count + row.unfinished ? "log" : "mixed";
}

std::string clocks_sentence(const Analysis& analysis) {
  std::uint64_t spans = 0, with_device = 0, device_of = 0, from_log = 0;
  for (const StageRow& row : analysis.stages) {
    spans += row.count + row.unfinished;
    from_log += row.log_spans;
    with_device += row.device_spans;
    if (row.device_ns) device_of += row.count + row.unfinished;
  }
  std::string text = "Times are of the host's clock";
  if (from_log > 0) {
    text = from_log >= spans ? "Times are when lines of the log came"
                             : fmt::format("{}; of {} they are when lines of the log came", text,
                                           counted(from_log, "span", "spans"));
  }
  text += ".";
  if (with_device > 0) {
    text += fmt::format(" Device time is of the device's own clock, of {} of {} in its rows.",
                        count(with_device), counted(device_of, "span", "spans"));
  }
  return text;
}

}  // namespace genscope::report

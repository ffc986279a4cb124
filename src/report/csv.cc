// The stage table as comma-separated values.
#include <fmt/format.h>

#include <iterator>
#include <string>

#include <genscope/report.h>

#include "report/printable.h"

namespace genscope {

void report_csv(const Run& /*run*/, const Analysis& analysis, const Sink& sink) {
  sink(
      "name,kind,count,total_ns,self_ns,share,min_ns,mean_ns,p50_ns,p95_ns,p99_ns,max_ns,"
      "device_ns,failed,unfinished\n");
  for (const StageRow& r : analysis.stages) {
    std::string line = fmt::format("{},{},{},{},{},", report::csv_field(r.name), name(r.kind),
                                   r.count, r.total_ns, r.self_ns);
    const auto out = std::back_inserter(line);
    if (analysis.wall_ns > 0) fmt::format_to(out, "{}", r.share);
    // What was not measured stays empty: a 0 would be a claim.
    if (r.count > 0) {
      fmt::format_to(out, ",{},{},{},{},{},{},", r.min_ns, r.mean_ns, r.p50_ns, r.p95_ns, r.p99_ns,
                     r.max_ns);
    } else {
      line += ",,,,,,,";
    }
    if (r.device_ns) fmt::format_to(out, "{}", *r.device_ns);
    fmt::format_to(out, ",{},{}\n", r.failed, r.unfinished);
    sink(line);
  }
}

}  // namespace genscope

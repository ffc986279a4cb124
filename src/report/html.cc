// The report as one HTML file: the web bundle with the run's data inside.
#include <algorithm>
#include <stdexcept>
#include <string>

#include <genscope/report.h>

#include "report/page/base64.h"
#include "report/page/bundle.h"
#include "report/page/page.h"

namespace genscope {
namespace {

constexpr std::string_view kMarker =
    R"(<script type="application/x-genscope-page" id="genscope-data">)";

}  // namespace

void report_html(const Run& run, const Analysis& analysis, const Advice& advice, const Sink& sink) {
  std::string document;
  report_json(run, analysis, advice, [&](std::string_view part) { document += part; });
  const std::string packed = report::gzip(report::page_container(run, analysis, document, {}));
  const std::string_view bundle = report::web_bundle();
  const std::size_t at = bundle.find(kMarker) + kMarker.size();
  sink(bundle.substr(0, at));
  report::base64(packed, sink);
  sink(bundle.substr(at));
}

}  // namespace genscope

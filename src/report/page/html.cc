// The report as one HTML file: the web bundle with the run's data inside.
#include <string>

#include <genscope/report.h>

#include "report/page/base64.h"
#include "report/page/bundle.h"
#include "report/page/page.h"

namespace genscope {
namespace {

constexpr std::string_view kMarker =
    R"(<script type="application/x-genscope-page" id="genscope-data">)";

// A bundle with this container in it.
void write_page(std::string_view container, const Sink& sink) {
  const std::string packed = report::gzip(container);
  const std::string_view bundle = report::report_page();
  const std::size_t at = bundle.find(kMarker) + kMarker.size();
  sink(bundle.substr(0, at));
  report::base64(packed, sink);
  sink(bundle.substr(at));
}

}  // namespace

void report_html(const Run& run, const Analysis& analysis, const Advice& advice, const Sink& sink) {
  std::string document;
  report_json(run, analysis, advice, [&](std::string_view part) { document += part; });
  write_page(report::page_container(run, analysis, document, {}), sink);
}

void compare_html(const Comparison& comparison, const RunOutlines& outlines, const Run& before,
                  const Analysis& before_analysis, const Run& after, const Analysis& after_analysis,
                  const Sink& sink) {
  constexpr report::PageLimits kOfEach{.spans = 500'000};
  std::string document;
  compare_json(comparison, [&](std::string_view part) { document += part; });
  write_page(report::compare_container({before, before_analysis}, {after, after_analysis}, outlines,
                                       document, kOfEach),
             sink);
}

}  // namespace genscope

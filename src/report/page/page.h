// The data inside a page: docs/page-data.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include <genscope/analyze.h>
#include <genscope/report.h>
#include <genscope/trace.h>

#include "report/page/columns.h"

namespace genscope::report {

struct PageLimits {
  std::uint64_t spans = 1'000'000;  // kept one by one, some 6 MB; the rest is summarised
  std::uint64_t points = 20'000;    // of one counter, peaks kept
  std::uint64_t events = 100'000;
  std::uint64_t args_bytes = 2 << 20;  // of JSON text, of all spans and events
};

// What was left out on the way.
struct PageCuts {
  std::uint64_t spans = 0, spans_kept = 0, args = 0, events = 0, points = 0;
  std::uint64_t args_bytes = 0;  // taken so far
};

// Numbers of names over all traces: spans of one name in two processes share one.
class PageNames {
 public:
  std::uint32_t number(const Name& name);
  std::string names_json() const { return "[" + names_ + "]"; }
  std::string kinds_json() const { return "[" + kinds_ + "]"; }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::string names_, kinds_;
};

// The parts of the header, each a JSON text.
std::string tracks_json(const Run& run, const Analysis& analysis, const PageLimits& limits,
                        PageNames& names, Blobs& blobs, PageCuts& cuts);
std::string events_json(const Run& run, const Analysis& analysis, const PageLimits& limits,
                        PageNames& names, Blobs& blobs, PageCuts& cuts);
std::string counters_json(const Run& run, const Analysis& analysis, const PageLimits& limits,
                          Blobs& blobs, PageCuts& cuts);

// The arguments of one span or event as a JSON object, "" if it has none or `limits` are reached.
std::string args_json(const Trace& trace, const ArgColumns& args, std::size_t owner,
                      const PageLimits& limits, PageCuts& cuts);

// The whole container of mode report; `report` is the genscope.report/1 document.
std::string page_container(const Run& run, const Analysis& analysis, std::string_view report,
                           const PageLimits& limits);

// One of the two runs of a comparison.
struct PageRun {
  const Run& run;
  const Analysis& analysis;
};
// The whole container of mode compare; `comparison` is the genscope.compare/2 document. `limits`
// are of each run.
std::string compare_container(const PageRun& before, const PageRun& after,
                              const RunOutlines& outlines, std::string_view comparison,
                              const PageLimits& limits);

// gzip, level 1: a page is written at the end of a run, while someone waits.
std::string gzip(std::string_view bytes);

}  // namespace genscope::report

// Every reading of every counter, one line each: CSV, JSON Lines.
#include <fmt/compile.h>

#include <cmath>
#include <vector>

#include "base/text.h"
#include "report/printable.h"
#include "report/span_dump.h"
#include "report/thin.h"

namespace genscope {
namespace {

using report::append;
using report::Buffer;

struct Line {
  std::uint32_t pid = 0;
  std::string_view counter;  // made ready
  std::int64_t at_ns = 0;    // since the run's begin
  double value = 0;
};

struct CsvLines {
  static std::string ready(std::string_view text) { return report::csv_field(text); }
  static void head(Buffer& out) { append(out, "pid,counter,at_ns,value\n"); }
  static void line(Buffer& out, const Line& l) {
    fmt::format_to(fmt::appender(out), FMT_COMPILE("{},{},{},"), l.pid, l.counter, l.at_ns);
    if (std::isfinite(l.value)) fmt::format_to(fmt::appender(out), FMT_COMPILE("{}"), l.value);
    out.push_back('\n');
  }
};

struct JsonLines {
  static std::string ready(std::string_view text) { return base::json_quote(text); }
  static void head(Buffer&) {}
  static void line(Buffer& out, const Line& l) {
    fmt::format_to(fmt::appender(out), FMT_COMPILE("{{\"pid\":{},\"counter\":{},\"at_ns\":{},"),
                   l.pid, l.counter, l.at_ns);
    if (std::isfinite(l.value)) {
      fmt::format_to(fmt::appender(out), FMT_COMPILE("\"value\":{}}}\n"), l.value);
    } else {
      append(out, "\"value\":null}\n");
    }
  }
};

template <class Lines>
void dump(const Run& run, const Analysis& analysis, std::uint64_t points, const Sink& sink) {
  Buffer buffer;
  Lines::head(buffer);
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    const std::int64_t shift = report::shift_to_begin(analysis, t);
    const auto places = report::readings_by_name(trace);
    for (std::size_t name = 0; name < places.size(); ++name) {
      if (places[name].empty()) continue;
      const std::string counter = Lines::ready(trace.names[name].text);
      for (const std::uint32_t i : report::thinned(places[name], trace.counters.value, points)) {
        Lines::line(buffer, {trace.process.pid, counter,
                             report::wrapping_add(trace.counters.at_ns[i], shift),
                             trace.counters.value[i]});
        report::pass_on(buffer, sink);
      }
    }
  }
  sink({buffer.data(), buffer.size()});
}

}  // namespace

void samples_csv(const Run& run, const Analysis& analysis, std::uint64_t points, const Sink& sink) {
  dump<CsvLines>(run, analysis, points, sink);
}

void samples_json(const Run& run, const Analysis& analysis, std::uint64_t points,
                  const Sink& sink) {
  dump<JsonLines>(run, analysis, points, sink);
}

}  // namespace genscope

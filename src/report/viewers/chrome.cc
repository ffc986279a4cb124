// Chrome Trace Event JSON: chrome://tracing, Perfetto, speedscope, TensorBoard read it.
//
// Times are microseconds with three decimals. Spans are complete events ("X"); those of a launch
// and of what it started share a flow ("s", "f"). Counters of probes are named by what they
// measure.
#include <fmt/compile.h>

#include <cmath>
#include <limits>

#include <genscope/report.h>

#include "base/text.h"
#include "report/page/page.h"
#include "report/span_dump.h"
#include "report/thin.h"
#include "report/viewers/sheets.h"

namespace genscope {
namespace {

using report::append;
using report::Buffer;

class ChromeWriter {
 public:
  ChromeWriter(const Run& run, const Analysis& analysis, const Sink& sink)
      : run_(run), analysis_(analysis), sink_(sink) {
    limits_.args_bytes = std::numeric_limits<std::uint64_t>::max();
  }

  void write() {
    append(buffer_, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"recorded_by\":\"genscope\"");
    if (!run_.id.empty()) append(buffer_, ",\"run\":" + base::json_quote(run_.id));
    append(buffer_, "},\"traceEvents\":[");
    std::uint64_t first_flow = 1;
    for (std::size_t t = 0; t < run_.traces.size(); ++t) {
      trace(t, first_flow);
      first_flow += run_.traces[t].spans.size();
    }
    append(buffer_, "\n]}\n");
    sink_({buffer_.data(), buffer_.size()});
  }

 private:
  // Begins an event: a comma where one is due, the fields that all have.
  void open(char phase, std::uint32_t pid) {
    fmt::format_to(fmt::appender(buffer_), FMT_COMPILE("{}\n{{\"ph\":\"{}\",\"pid\":{}"),
                   first_ ? "" : ",", phase, pid);
    first_ = false;
  }
  void close() {
    buffer_.push_back('}');
    report::pass_on(buffer_, sink_);
  }
  void time(const char* key, std::int64_t ns) {
    const std::uint64_t size =
        ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    fmt::format_to(fmt::appender(buffer_), FMT_COMPILE(",\"{}\":{}{}.{:03}"), key,
                   ns < 0 ? "-" : "", size / 1000, size % 1000);
  }
  void meta(std::uint32_t pid, std::uint32_t tid, const char* what, const std::string& name) {
    open('M', pid);
    fmt::format_to(fmt::appender(buffer_),
                   FMT_COMPILE(",\"tid\":{},\"name\":\"{}\",\"args\":{{\"name\":{}}}"), tid, what,
                   base::json_quote(name));
    close();
  }

  void trace(std::size_t index, std::uint64_t first_flow) {
    const Trace& trace = run_.traces[index];
    const std::int64_t shift = report::shift_to_begin(analysis_, index);
    const std::uint32_t pid = pids_.of(trace);
    names_.clear();
    for (const Name& name : trace.names) names_.push_back(base::json_quote(name.text));
    meta(pid, 0, "process_name", report::viewer_process_name(trace));
    const std::vector<report::Sheets> tracks = report::sheets_of(trace);
    const std::vector<bool> starts = report::starters(trace);
    std::vector<std::uint32_t> rows;  // of each track: the tid of its first row
    for (std::size_t k = 0; k < tracks.size(); ++k) {
      const TrackInfo& track = trace.tracks[k];
      rows.push_back(track.tid != 0 ? track.tid : pids_.next_row());
      for (std::size_t s = 0; s < tracks[k].size(); ++s) {
        const std::uint32_t row = s == 0 ? rows.back() : pids_.next_row();
        meta(pid, row, "thread_name", report::viewer_row_name(track, s));
        for (const std::uint32_t span : tracks[k][s]) {
          complete(trace, span, pid, row, shift);
          if (starts[span]) flow('s', trace, span, pid, row, shift, first_flow + span);
          if (report::started_elsewhere(trace, span)) {
            flow('f', trace, span, pid, row, shift, first_flow + trace.spans.parent[span]);
          }
        }
      }
    }
    events(trace, pid, rows, shift);
    counters(trace, pid, shift);
  }

  void complete(const Trace& trace, std::uint32_t span, std::uint32_t pid, std::uint32_t row,
                std::int64_t shift) {
    const SpanColumns& spans = trace.spans;
    open('X', pid);
    fmt::format_to(fmt::appender(buffer_), FMT_COMPILE(",\"tid\":{}"), row);
    time("ts", report::wrapping_add(spans.begin_ns[span], shift));
    time("dur", report::end_of(spans, span) - spans.begin_ns[span]);
    fmt::format_to(fmt::appender(buffer_), FMT_COMPILE(",\"cat\":\"{}\",\"name\":{}"),
                   name(trace.kind(span)), names_[spans.name[span]]);
    std::string args = report::args_json(trace, trace.span_args, span, limits_, cuts_);
    if (spans.flags[span] != 0) {
      const std::string flags = "\"genscope\":\"" + report::flag_words(spans.flags[span]) + "\"";
      args = args.empty() ? "{" + flags + "}" : "{" + flags + "," + args.substr(1);
    }
    if (!args.empty()) append(buffer_, ",\"args\":" + args);
    close();
  }

  void flow(char phase, const Trace& trace, std::uint32_t span, std::uint32_t pid,
            std::uint32_t row, std::int64_t shift, std::uint64_t id) {
    open(phase, pid);
    fmt::format_to(fmt::appender(buffer_),
                   FMT_COMPILE(",\"tid\":{},\"cat\":\"launch\",\"name\":\"launch\",\"id\":{}{}"),
                   row, id, phase == 'f' ? ",\"bp\":\"e\"" : "");
    time("ts", report::wrapping_add(trace.spans.begin_ns[span], shift));
    close();
  }

  void events(const Trace& trace, std::uint32_t pid, const std::vector<std::uint32_t>& rows,
              std::int64_t shift) {
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      if (is_sampler_event(trace, i)) continue;
      open('i', pid);
      fmt::format_to(fmt::appender(buffer_), FMT_COMPILE(",\"tid\":{},\"s\":\"t\",\"name\":{}"),
                     rows[trace.events.track[i]], names_[trace.events.name[i]]);
      time("ts", report::wrapping_add(trace.events.at_ns[i], shift));
      const std::string args = report::args_json(trace, trace.event_args, i, limits_, cuts_);
      if (!args.empty()) append(buffer_, ",\"args\":" + args);
      close();
    }
  }

  void counters(const Trace& trace, std::uint32_t pid, std::int64_t shift) {
    const auto places = report::readings_by_name(trace);
    for (std::uint32_t n = 0; n < places.size(); ++n) {
      if (places[n].empty()) continue;
      const std::string counter = base::json_quote(report::viewer_counter_name(trace, n));
      for (const std::uint32_t i : places[n]) {
        const double value = trace.counters.value[i];
        if (!std::isfinite(value)) continue;
        open('C', pid);
        fmt::format_to(fmt::appender(buffer_),
                       FMT_COMPILE(",\"name\":{},\"args\":{{\"value\":{}}}"), counter, value);
        time("ts", report::wrapping_add(trace.counters.at_ns[i], shift));
        close();
      }
    }
  }

  const Run& run_;
  const Analysis& analysis_;
  const Sink& sink_;
  Buffer buffer_;
  bool first_ = true;
  report::ViewerPids pids_;
  report::PageLimits limits_;
  report::PageCuts cuts_;
  std::vector<std::string> names_;  // of the trace at hand, quoted
};

}  // namespace

void report_chrome(const Run& run, const Analysis& analysis, const Sink& sink) {
  ChromeWriter(run, analysis, sink).write();
}

}  // namespace genscope

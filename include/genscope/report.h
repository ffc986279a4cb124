// Reports: a Run and its Analysis as bytes. One function per output; none of them measures.
//
// Output goes to a Sink piece by piece, so that a dump of ten million spans needs no memory. A
// sink that cannot take more may throw: the exception passes through to the caller, and nothing
// more is written.
//
// Names come out of traces and are not to be trusted. Text escapes control characters, JSON and
// CSV are valid UTF-8 whatever the bytes were.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/trace.h>

namespace genscope {

using Sink = std::function<void(std::string_view)>;

// What a person wants to know first, in a sentence or three: how it ended if not well, what took
// the time, whether memory grew, how many findings there are. The same in every report. Printable.
std::string headline(const Run& run, const Analysis& analysis, const Advice& advice);

struct ScreenOptions {
  int width = 100;                      // columns of the terminal; 60 to 100 are used
  bool color = false;                   // ANSI colours
  bool unicode = true;                  // bars and sparklines of block characters
  std::vector<std::string> notes = {};  // lines that the reader must see: "1 still runs: 42 sleep"
  std::string run = {};                 // how the next commands name it; empty: the newest run
  std::string page = {};                // path of its HTML report, if there is one
};
// The first screen, at most 30 lines: the headline, a bar by stage, steps, memory, processors, GPUs
// and energy as far as they were measured, the weightiest findings, and what to do next.
void report_screen(const Run& run, const Analysis& analysis, const Advice& advice,
                   const ScreenOptions& options, const Sink& sink);

struct TextOptions {
  int width = 100;           // columns of the terminal
  bool color = false;        // ANSI colours
  bool stages_only = false;  // the stage table, the steps and the findings in brief, nothing else
};

// For people: what ran, the stage table, steps, threads, counters, what was lost, and what the
// advisor found: advise(facts_of(analysis)).
void report_text(const Run& run, const Analysis& analysis, const Advice& advice,
                 const TextOptions& options, const Sink& sink);
// The same for a wiki, a pull request or a chat.
void report_markdown(const Run& run, const Analysis& analysis, const Advice& advice,
                     const Sink& sink);
// One self-contained file to open in a browser, offline: docs/page-data.md.
void report_html(const Run& run, const Analysis& analysis, const Advice& advice, const Sink& sink);
// `genscope.report/1`, see docs/report-json.md.
void report_json(const Run& run, const Analysis& analysis, const Advice& advice, const Sink& sink);
// The stage table, a row per name and kind, units in the column names; what is not known is empty.
void report_csv(const Run& run, const Analysis& analysis, const Sink& sink);
// For viewers of traces: every span, event and reading, spans that overlap on rows of their own.
// Chrome Trace Event JSON; and Perfetto's protobuf, which is smaller and exact to the nanosecond.
void report_chrome(const Run& run, const Analysis& analysis, const Sink& sink);
void report_perfetto(const Run& run, const Analysis& analysis, const Sink& sink);

// Sampled stacks: a line for each with its microseconds, as flamegraph.pl and most viewers read it;
// and the JSON of speedscope, a profile for each thread. Stages are frames.
void stacks_collapsed(const Analysis& analysis, const Sink& sink);
void stacks_speedscope(const Run& run, const Analysis& analysis, const Sink& sink);

// Every span, one line each: aligned text, JSON Lines, or CSV. `id` and `parent` count through the
// whole run; `begin_ns` is since the run's begin; `args` is a JSON object.
void spans_text(const Run& run, const Analysis& analysis, const Sink& sink);
void spans_json(const Run& run, const Analysis& analysis, const Sink& sink);
void spans_csv(const Run& run, const Analysis& analysis, const Sink& sink);

// Every reading of every counter, probes' and the program's own, one line each, series by series in
// the order of time: CSV with a header, or JSON Lines. `points`: at most so many of one series, the
// least and the greatest of each stretch of time, so that peaks stay; 0: all.
void samples_csv(const Run& run, const Analysis& analysis, std::uint64_t points, const Sink& sink);
void samples_json(const Run& run, const Analysis& analysis, std::uint64_t points, const Sink& sink);

struct AdviceTextOptions {
  int width = 100;     // columns of the terminal
  bool color = false;  // ANSI colours
  bool all = false;    // also who abstained for want of what, who did not fire, who was silenced
};

// For people: each finding with its evidence, advice, gain, confidence and source.
void advice_text(const Advice& advice, const AdviceTextOptions& options, const Sink& sink);
// The same as Markdown; `all` as above.
void advice_markdown(const Advice& advice, bool all, const Sink& sink);
// `genscope.advice/1`, see docs/rules.md. `all` as above.
void advice_json(const Advice& advice, bool all, const Sink& sink);
// A patch of settings: what the target takes (Python, or flags), the reasons as comments.
void settings_patch_text(const SettingsPatch& patch, const Sink& sink);
// `genscope.settings/1`, see docs/rules.md.
void settings_patch_json(const SettingsPatch& patch, const Sink& sink);

struct CompareTextOptions {
  int width = 100;     // columns of the terminal
  bool color = false;  // ANSI colours
};

// For people: what differs in how the two runs were made, then what changed, then the verdict.
void compare_text(const Comparison& comparison, const CompareTextOptions& options,
                  const Sink& sink);
// `genscope.compare/2`, see docs/compare.md.
void compare_json(const Comparison& comparison, const Sink& sink);
// The same tables as the text, for a page or a pull request.
void compare_markdown(const Comparison& comparison, const Sink& sink);

// A run in outline: what a page draws of it over other runs. Times are since the run's begin.
struct RunOutline {
  struct Stage {
    std::string name;
    std::int64_t begin_ns = 0, duration_ns = 0;
  };
  struct Series {
    std::string entity, metric, unit;
    std::vector<double> at_ns, value;
  };
  std::string name, path;
  std::int64_t wall_ns = 0;
  std::vector<Stage> stages;  // the outermost ones, of the thread with most time in stages
  std::uint64_t steps = 0;    // of the thread with most time in steps; the first 10,000 are kept
  std::vector<double> step_begin_ns, step_ns;
  std::vector<Series> series;  // memory and CPU time of its processes, its first GPU
};
RunOutline outline_of(const Run& run, const Analysis& analysis);

inline constexpr std::size_t kMostOutlines =
    8;  // more lines over one another nobody can tell apart
struct RunOutlines {
  std::vector<RunOutline> before, after;
  std::size_t left_out = 0;  // runs of the comparison that are not here
};
// How many runs of each side a page draws, when there are so many.
std::pair<std::size_t, std::size_t> outlined_runs(std::size_t before, std::size_t after) noexcept;

// One self-contained file to open in a browser, offline: all of `outlines` over one another, and
// the spans of one run a side, to be looked at side by side.
void compare_html(const Comparison& comparison, const RunOutlines& outlines, const Run& before,
                  const Analysis& before_analysis, const Run& after, const Analysis& after_analysis,
                  const Sink& sink);

struct AggregateTextOptions {
  int width = 100;     // columns of the terminal
  bool color = false;  // ANSI colours
};

// Many ranks as one, see docs/aggregate.md: who is missing, stages and figures over the ranks,
// stragglers, clocks, a row per rank.
void aggregate_text(const Aggregate& aggregate, const AggregateTextOptions& options,
                    const Sink& sink);
// `genscope.aggregate/1`.
void aggregate_json(const Aggregate& aggregate, const Sink& sink);
void aggregate_markdown(const Aggregate& aggregate, const Sink& sink);

}  // namespace genscope

// bench_names: what it takes to read a run with a million different names and to write each report
// of it, as a process of its own: CPU time and peak memory.
//
//   bench_names                          records runs in a temporary folder and measures
//   bench_names make DIR spans 1000000   records one run: of spans, counters, events, layers,
//                                        threads or all
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/record.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "harness/child.h"
#include "harness/table.h"

namespace {

using namespace bench;

constexpr double kMostBytes = 600e6;

// Names as a program makes them that puts a number into each.
void record(const std::string& folder, const std::string& what, std::size_t count) {
  genscope::SessionOptions options;
  options.run_dir = folder;
  const genscope::Session session("names", options);
  const bool all = what == "all";
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    if (all || what == "spans") {
      const genscope::Span span(genscope::SpanKind::function, name);
    }
    if (what == "layers") {
      const genscope::Span span(genscope::SpanKind::block, name);
    }
    if (all || what == "counters") genscope::counter("loss" + name, static_cast<double>(i % 100));
    if (all || what == "events") genscope::event("done" + name);
    if (what == "threads") {
      const genscope::Track track(name);
      genscope::end(genscope::begin(genscope::SpanKind::task, "work", {.track = track}));
    }
    if (i % 10'000 == 0) genscope::flush();
  }
}

using Write = void (*)(const genscope::Run&, const genscope::Analysis&, const genscope::Advice&,
                       const genscope::Sink&);

struct Format {
  const char* name;
  Write write;
};

const Format kFormats[] = {
    {"text", [](const auto& run, const auto& analysis, const auto& advice,
                const auto& sink) { genscope::report_text(run, analysis, advice, {}, sink); }},
    {"json", genscope::report_json},
    {"html", genscope::report_html},
    {"csv", [](const auto& run, const auto& analysis, const auto&,
               const auto& sink) { genscope::report_csv(run, analysis, sink); }},
    {"md", genscope::report_markdown},
};

bool write(const std::string& folder, Write format) {
  const genscope::Result<genscope::Run> run = genscope::read_run(folder);
  if (!run) return false;
  const genscope::Analysis analysis = genscope::analyze(*run);
  const genscope::Advice advice = genscope::advise(genscope::facts_of(analysis));
  std::size_t bytes = 0;
  format(*run, analysis, advice, [&](std::string_view part) { bytes += part.size(); });
  return bytes > 0;
}

void measure_formats(const std::string& folder, const std::string& what, Table& table) {
  for (const Format& format : kFormats) {
    const Spent spent = in_child([&] { return write(folder, format.write); });
    const std::string name = std::string(format.name) + ", " + what;
    table.add({name, spent.cpu_seconds, "s", "", 0, "", spent.worked, ""});
    table.add({"peak, " + name, spent.peak_bytes / 1e6, "MB", "", 0, "600 MB",
               spent.worked && spent.peak_bytes <= kMostBytes, ""});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.rest.size() == 4 && options.rest[0] == "make") {
    record(options.rest[1], options.rest[2], std::strtoull(options.rest[3].c_str(), nullptr, 10));
    return 0;
  }
  const std::size_t count = options.quick ? 100'000 : 1'000'000;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("bench-names-" + std::to_string(::getpid()));
  Table table;
  for (const std::string what : {"spans", "counters", "events"}) {
    const std::string run = (folder / what).string();
    in_child([&] {
      record(run, what, count);
      return true;
    });
    measure_formats(run, what, table);
  }
  std::filesystem::remove_all(folder);
  table.finish(options.json);
  return 0;
}

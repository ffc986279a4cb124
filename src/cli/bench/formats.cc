#include "cli/bench/formats.h"

#include <array>

#include "bench/history/history_page.h"

namespace genscope::cli::bench {
namespace {

namespace core = genscope::bench;

struct ResultFormat {
  const char* name;
  void (*write)(const core::BenchResult& result, const Sink& sink);
};
void write_page(const core::BenchResult& r, const Sink& sink) { write_result_page(r, {}, sink); }

constexpr std::array<ResultFormat, 8> kResultFormats = {{
    {"json", [](const core::BenchResult& r, const Sink& sink) { core::result_json(r, {}, sink); }},
    {"md", core::result_markdown},
    {"csv", core::result_csv},
    {"junit", core::result_junit},
    {"gha",
     [](const core::BenchResult& r, const Sink& sink) {
       core::result_benchmark_action(r, Direction::lower_is_better, sink);
     }},
    {"gha-bigger",
     [](const core::BenchResult& r, const Sink& sink) {
       core::result_benchmark_action(r, Direction::higher_is_better, sink);
     }},
    {"bmf", core::result_bmf},
    {"html", write_page},
}};

}  // namespace

const std::vector<std::string>& result_formats() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ResultFormat& format : kResultFormats) all.emplace_back(format.name);
    return all;
  }();
  return names;
}

void write_result_as(std::string_view format, const core::BenchResult& result, const Sink& sink) {
  for (const ResultFormat& one : kResultFormats) {
    if (format == one.name) return one.write(result, sink);
  }
}

void write_result_page(const core::BenchResult& result, core::ResultPageOptions options,
                       const Sink& sink) {
  options.history = core::history_of_result(result, options.metric);
  core::result_html(result, options, sink);
}

}  // namespace genscope::cli::bench

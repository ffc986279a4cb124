// A comparison as Markdown.
#include <fmt/format.h>

#include <string>

#include <genscope/report.h>

#include "report/compare_tables.h"
#include "report/format.h"
#include "report/printable.h"

namespace genscope {
namespace {

namespace rep = report;

constexpr std::size_t kLongestValue = 80;

std::string safe(const std::string& text) { return rep::markdown_text(rep::printable(text)); }

std::string title_of(const std::vector<ComparedRun>& runs) {
  if (runs.size() != 1) return safe(rep::side_text(runs));
  const ComparedRun& run = runs.front();
  for (const std::string* text : {&run.path, &run.name, &run.id}) {
    if (!text->empty()) return safe(*text);
  }
  return "run";
}

void add_list(const std::vector<std::string>& sentences, std::string& out) {
  if (sentences.empty()) return;
  out += "\n";
  for (const std::string& text : sentences) out += "- " + safe(text) + "\n";
}

void add_differences(const char* title, const std::vector<Difference>& list, std::string& out) {
  if (list.empty()) return;
  out += fmt::format("\n### {}\n\n", title);
  out += rep::difference_table(list, kLongestValue).markdown();
}

void add_changes(const Comparison& comparison, std::string& out) {
  if (comparison.rows.empty()) return;
  out += "\n### Changes\n\n" + rep::change_table(comparison).markdown();
  const std::size_t all = comparison.rows.size();
  const std::size_t more = all > rep::kMostChangeRows ? all - rep::kMostChangeRows : 0;
  if (more + comparison.rows_left_out > 0) {
    out += fmt::format("\n{} with less time not shown\n",
                       rep::counted(more + comparison.rows_left_out, "row", "rows"));
  }
  const std::string covered = rep::interval_sentence(comparison);
  if (!covered.empty()) out += "\n" + covered + "\n";
}

void add_attribution(const Comparison& comparison, std::string& out) {
  const rep::Table table = rep::attribution_table(comparison);
  if (table.empty()) return;
  out += "\n### Where the difference is\n\n" + table.markdown();
  add_list(comparison.attribution->notes, out);
}

}  // namespace

void compare_markdown(const Comparison& comparison, const Sink& sink) {
  std::string out =
      fmt::format("## {} against {}\n", title_of(comparison.before), title_of(comparison.after));
  add_differences("Environment", comparison.environment, out);
  if (const std::string drift = rep::drift_sentence(comparison); !drift.empty()) {
    out += "\n" + safe(drift) + "\n";
  }
  add_differences("Workload", comparison.workload, out);
  add_differences("Other differences", comparison.other, out);
  const bool refused = !comparison.incomparable.empty() && !comparison.forced;
  if (!comparison.incomparable.empty()) {
    out +=
        fmt::format("\n### Not comparable{}\n", comparison.forced ? ", compared all the same" : "");
    add_list(comparison.incomparable, out);
  }
  add_changes(comparison, out);
  add_attribution(comparison, out);
  if (const std::string target = rep::target_sentence(comparison.before_after); !target.empty()) {
    out += "\n" + safe(target) + "\n";
  }
  add_list(comparison.notes, out);
  if (!refused) {
    const rep::Headline headline = rep::headline_of(comparison);
    out += fmt::format("\n**{}** {}\n", rep::markdown_text(headline.verdict),
                       rep::markdown_text(headline.reason));
  }
  sink(out);
}

}  // namespace genscope

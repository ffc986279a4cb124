// An Aggregate as Markdown, for issues and wikis.
#include <genscope/report.h>

#include "report/aggregate_lines.h"
#include "report/printable.h"

namespace genscope {
namespace {

namespace rep = report;

constexpr std::size_t kSentences = 20, kVictims = 4, kClocks = 8, kStages = 50, kRanks = 256;

void list(const std::vector<std::pair<std::string, std::string>>& lines, std::string& out) {
  for (const auto& [label, text] : lines) {
    out += "- **" + label + "**: " + rep::markdown_text(text) + "\n";
  }
}

void table(const char* title, const rep::Table& rows, std::string& out) {
  if (!rows.empty()) out += std::string("\n## ") + title + "\n\n" + rows.markdown();
}

}  // namespace

void aggregate_markdown(const Aggregate& aggregate, const Sink& sink) {
  std::string out = "# " + rep::aggregate_title(aggregate) + "\n";
  const auto problems = rep::aggregate_problems(aggregate, kSentences);
  if (!problems.empty()) out += "\n";
  list(problems, out);
  table("Stages", rep::stage_rows(aggregate, kStages), out);
  table("Figures", rep::figure_rows(aggregate), out);
  if (const std::string method = rep::median_method(aggregate); !method.empty()) {
    out += "\n" + rep::markdown_text(method) + "\n";
  }
  if (aggregate.ranks > 0) {
    out += "\n## Stragglers\n\n";
    list(rep::straggler_lines(aggregate, kVictims), out);
  }
  const std::vector<std::string> clocks = rep::clock_lines(aggregate, kClocks);
  if (!clocks.empty()) out += "\n## Clocks\n\n";
  for (const std::string& line : clocks) out += "- " + rep::markdown_text(line) + "\n";
  table("Ranks", rep::rank_rows(aggregate, kRanks), out);
  sink(out);
}

}  // namespace genscope

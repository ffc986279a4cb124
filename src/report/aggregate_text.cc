// An Aggregate for people.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include <genscope/report.h>

#include "report/aggregate_lines.h"
#include "report/format.h"
#include "report/printable.h"

namespace genscope {
namespace {

namespace rep = report;

constexpr std::size_t kProblemLabel = 11;  // the indent and the label before a text
constexpr std::size_t kProblemLines = 20;  // of one sort
constexpr std::size_t kVictimLines = 4;
constexpr std::size_t kClockLines = 8;
constexpr std::size_t kStageRows = 30;
constexpr std::size_t kRankRows = 64;

class AggregateText {
 public:
  AggregateText(const Aggregate& aggregate, const AggregateTextOptions& options)
      : a_(aggregate), width_(rep::text_width(options.width)), color_(options.color) {}

  std::string make() {
    out_ = bold(rep::aggregate_title(a_)) + "\n";
    for (const auto& [label, text] : rep::aggregate_problems(a_, kProblemLines)) field(label, text);
    table("Stages, time of each rank", rep::stage_rows(a_, kStageRows));
    table("Figures", rep::figure_rows(a_));
    if (const std::string method = rep::median_method(a_); !method.empty()) {
      field("medians", method);
    }
    if (a_.ranks > 0) {
      heading("Stragglers");
      for (const auto& [role, text] : rep::straggler_lines(a_, kVictimLines)) field(role, text);
    }
    const std::vector<std::string> clocks = rep::clock_lines(a_, kClockLines);
    if (!clocks.empty()) heading("Clocks");
    for (const std::string& line : clocks) out_ += "  " + rep::wrap(line, width_ - 2) + "\n";
    table("Ranks", rep::rank_rows(a_, kRankRows));
    return std::move(out_);
  }

 private:
  std::string bold(const std::string& text) const {
    return color_ ? "\x1b[1m" + text + "\x1b[0m" : text;
  }
  void heading(const char* text) { out_ += "\n" + bold(text) + "\n"; }

  void table(const char* title, const rep::Table& rows) {
    if (rows.empty()) return;
    heading(title);
    out_ += rows.render(width_, false);
  }

  // A label and a text that is broken into lines beside it.
  void field(const std::string& label, const std::string& text) {
    std::string lines = rep::wrap(text, width_ - kProblemLabel);
    for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos;
         at += kProblemLabel) {
      lines.insert(at + 1, kProblemLabel - 2, ' ');  // wrap() indents by two
    }
    out_ += fmt::format("  {:<{}}{}\n", label, kProblemLabel - 2, lines);
  }

  const Aggregate& a_;
  std::size_t width_;
  bool color_;
  std::string out_;
};

}  // namespace

void aggregate_text(const Aggregate& aggregate, const AggregateTextOptions& options,
                    const Sink& sink) {
  sink(AggregateText(aggregate, options).make());
}

}  // namespace genscope

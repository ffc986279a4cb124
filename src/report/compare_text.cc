// A comparison for people.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include <genscope/report.h>

#include "report/compare_tables.h"
#include "report/format.h"
#include "report/printable.h"

namespace genscope {
namespace {

namespace rep = report;

const char* style_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::improved:
      return "1;32";
    case Verdict::regressed:
      return "1;31";
    default:
      return "1";
  }
}

class CompareText {
 public:
  CompareText(const Comparison& comparison, const CompareTextOptions& options)
      : comparison_(comparison), width_(rep::text_width(options.width)), color_(options.color) {}

  std::string make() {
    side("before", comparison_.before);
    side("after", comparison_.after);
    differences("Environment", comparison_.environment);
    if (const std::string drift = rep::drift_sentence(comparison_); !drift.empty()) {
      warning(drift);
    }
    differences("Workload", comparison_.workload);
    differences("Other differences", comparison_.other);
    obstacles();
    changes();
    attribution();
    notes();
    verdict();
    return std::move(out_);
  }

 private:
  static constexpr const char* kBold = "1";
  static constexpr const char* kYellow = "33";

  std::string styled(const std::string& text, const char* style) const {
    return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : text;
  }
  void line(const std::string& text) { out_ += text + "\n"; }
  void heading(const char* text) { line("\n" + styled(text, kBold)); }
  void sentence(const std::string& text) { line(rep::wrap(text, width_)); }
  void warning(const std::string& text) { line(styled(rep::wrap(text, width_), kYellow)); }

  void side(const char* which, const std::vector<ComparedRun>& runs) {
    constexpr std::size_t kLabel = 8;
    line(fmt::format("{:<{}}{}", which, kLabel,
                     rep::shorten(rep::side_text(runs), width_ - kLabel)));
  }

  void differences(const char* title, const std::vector<Difference>& list) {
    if (list.empty()) return;
    heading(title);
    out_ += rep::difference_table(list, width_ / 3).render(width_, color_);
  }

  void obstacles() {
    if (comparison_.incomparable.empty()) return;
    heading(comparison_.forced ? "Not comparable, compared all the same" : "Not comparable");
    for (const std::string& text : comparison_.incomparable) warning(rep::printable(text));
    if (!comparison_.forced) sentence("--force compares them all the same.");
  }

  void changes() {
    if (comparison_.rows.empty()) return;
    heading("Changes");
    out_ += rep::change_table(comparison_).render(width_, color_);
    const std::size_t all = comparison_.rows.size();
    if (all > rep::kMostChangeRows) {
      line(
          fmt::format("... and {} more; -f json has them", rep::count(all - rep::kMostChangeRows)));
    }
    if (comparison_.rows_left_out > 0) {
      line(fmt::format("{} with less time left out",
                       rep::counted(comparison_.rows_left_out, "row", "rows")));
    }
    const std::string covered = rep::interval_sentence(comparison_);
    if (!covered.empty()) sentence(covered);
  }

  void attribution() {
    const rep::Table table = rep::attribution_table(comparison_);
    if (table.empty()) return;
    heading("Where the difference is");
    out_ += table.render(width_, color_);
    for (const std::string& note : comparison_.attribution->notes) sentence(rep::printable(note));
  }

  void notes() {
    const std::string target = rep::target_sentence(comparison_.before_after);
    if (comparison_.notes.empty() && target.empty()) return;
    line("");
    if (!target.empty()) sentence(target);
    for (const std::string& note : comparison_.notes) warning(rep::printable(note));
  }

  void verdict() {
    if (!comparison_.incomparable.empty() && !comparison_.forced) return;
    const rep::Headline headline = rep::headline_of(comparison_);
    line("\n" + styled(headline.verdict, style_of(comparison_.judgement.verdict)));
    if (!headline.reason.empty()) sentence(headline.reason);
  }

  const Comparison& comparison_;
  std::size_t width_;
  bool color_;
  std::string out_;
};

}  // namespace

void compare_text(const Comparison& comparison, const CompareTextOptions& options,
                  const Sink& sink) {
  sink(CompareText(comparison, options).make());
}

}  // namespace genscope

#include "bench/suite/targets_text.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "bench/output/words.h"
#include "report/table.h"

namespace genscope::bench {
namespace {

std::string limit_text(const TargetResult& target, const Metric& of) {
  if (target.limit_max) return "<= " + figure(of.name, *target.limit_max);
  if (target.stat == "ratio") return fmt::format(">= {:g} x", target.limit_min.value_or(0));
  return ">= " + figure(of.name, target.limit_min.value_or(0));
}

std::vector<std::string> target_row(const TargetResult& target) {
  const Metric of = metric(target.metric);
  const auto shown = [&](double value) {
    return target.stat == "ratio" ? fmt::format("{:.3g} x", value) : figure(of.name, value);
  };
  std::string value = target.value ? shown(*target.value) : "-";
  if (target.ci) value += fmt::format(" ({} to {})", shown(target.ci->low), shown(target.ci->high));
  std::string met = target.score ? (target.score->met ? "met" : "missed") : "open";
  std::string sure = "-";
  if (target.score && target.score->confident) sure = *target.score->confident ? "yes" : "no";
  return {base::printable(target.cell),
          base::printable(target.metric),
          target.stat,
          limit_text(target, of),
          value,
          target.score ? fmt::format("{:.1f}", target.score->score) : "-",
          met,
          sure};
}

}  // namespace

std::string targets_text(const BenchResult& result, std::size_t width, bool color) {
  report::Table table({{"cell", true, 0},
                       {"metric", true, 0},
                       {"stat", true, 2},
                       {"target", false, 0},
                       {"measured", false, 0},
                       {"score", false, 0},
                       {"", true, 0},
                       {"sure", true, 1}});
  std::vector<std::string> open;
  for (const TargetResult& target : result.targets) {
    table.add(target_row(target));
    if (!target.score) {
      open.push_back(fmt::format("{} of {} is open: {}{}", target.metric, target.cell,
                                 target.absent, target.absent.ends_with('?') ? "" : "."));
    }
  }
  std::string text = table.render(width, color);
  for (const std::string& sentence : open) text += base::printable(sentence) + "\n";
  if (result.score) text += fmt::format("\nScore: {:.1f} of 100\n", *result.score);
  return text;
}

}  // namespace genscope::bench

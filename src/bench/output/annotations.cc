// Annotations for GitHub: one line of stdout each. More than ten a step are not shown.
#include <fmt/format.h>

#include "base/printable.h"
#include "bench/output/output.h"
#include "bench/output/words.h"

namespace genscope::bench {
namespace {

// As GitHub's toolkit does; in a title also what would end it.
std::string command_text(std::string_view text, bool title) {
  std::string out;
  for (const char c : base::printable(text)) {
    if (c == '%' || (title && (c == ':' || c == ','))) {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

struct Annotation {
  const char* level;
  std::string title, message;
};

std::vector<Annotation> annotations_of(const BenchResult& r) {
  std::vector<Annotation> all;
  for (const Cell& cell : r.cells) {
    if (cell.status != "failed") continue;
    all.push_back(
        {"error", cell.id + " failed", cell.failure ? failure_words(*cell.failure) : "it failed"});
  }
  for (const Comparison* c : by_urgency(r)) {
    if (!c->gate || urgency(*c) > 3) continue;
    const bool regressed = c->judgement.verdict == Verdict::regressed;
    std::string message = c->judgement.reason;
    const std::string parts = attribution_words(*c);
    if (!parts.empty()) message += ". By stage: " + parts;
    all.push_back(
        {regressed ? "error" : "warning",
         fmt::format("{} {}: {}", c->metric, verdict_words(c->judgement.verdict), c->cell),
         message});
  }
  for (const TargetResult& t : r.targets) {
    if (!t.score || t.score->met) continue;
    all.push_back({"error", fmt::format("{} misses its target", t.metric),
                   fmt::format("{} is {}", t.cell.empty() ? t.metric : t.cell,
                               t.value ? figure(t.metric, *t.value) : "not known")});
  }
  return all;
}

}  // namespace

void result_annotations(const BenchResult& r, const Sink& sink) {
  std::vector<Annotation> all = annotations_of(r);
  if (all.size() > kMostAnnotations) {
    const std::size_t left = all.size() - (kMostAnnotations - 1);
    all.resize(kMostAnnotations - 1);
    all.push_back({"notice", "More", fmt::format("{} more in the summary", left)});
  }
  for (const Annotation& a : all) {
    sink(fmt::format("::{} title={}::{}\n", a.level, command_text(a.title, true),
                     command_text(a.message, false)));
  }
}

}  // namespace genscope::bench

// Advice for people.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include <genscope/report.h>

#include "report/advice_text.h"
#include "report/format.h"
#include "report/printable.h"

namespace genscope {
namespace {

namespace rep = report;

constexpr std::size_t kAdviceLabel = 14;  // the indent and the label before a text
constexpr std::size_t kMaxValue = 40;

class AdviceText {
 public:
  AdviceText(const Advice& advice, const AdviceTextOptions& options, bool brief)
      : advice_(advice),
        width_(rep::text_width(options.width)),
        color_(options.color),
        all_(options.all),
        brief_(brief) {}

  std::string make(const char* remedy) {
    for (const Finding& one : advice_.findings) finding(one);
    summary(remedy);
    if (all_) {
      abstained();
      ids("Did not fire", advice_.silent);
      ids("Silenced", advice_.silenced);
    }
    return std::move(out_);
  }

 private:
  std::string styled(const std::string& text, const char* style) const {
    return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : text;
  }

  // A label and a text that is broken into lines beside it.
  void field(std::string_view label, std::string_view text) {
    if (text.empty()) return;
    std::string lines = rep::wrap(rep::printable(text), width_ - kAdviceLabel);
    for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos;) {
      lines.insert(at + 1, kAdviceLabel - 2, ' ');  // wrap() indents by two
      at += kAdviceLabel;
    }
    out_ += fmt::format("  {:<{}}{}\n", label, kAdviceLabel - 2, lines);
  }

  void finding(const Finding& found) {
    const Rule& rule = found.rule;
    const std::string severity(name(rule.severity));
    const std::string head = fmt::format("{}  ", rep::printable(rule.id));
    const std::size_t used = severity.size() + 2 + rep::columns(head);
    const std::string title =
        rep::shorten(rep::printable(rule.title), used < width_ ? width_ - used : 1);
    out_ += fmt::format("{}  {}{}\n", styled(severity, rep::severity_style(rule.severity)), head,
                        styled(title, "1"));
    field("advice", found.advice);
    if (brief_) return;
    field("evidence", rep::evidence_text(found));
    field("here", rep::here_text(found));
    field("elsewhere", rep::elsewhere_text(rule));
    field("confidence", name(rule.confidence));
    field("source", rule.citation);
    out_ += "\n";
  }

  void summary(const char* remedy) {
    std::string text = advice_.findings.empty()
                           ? "No rule fired"
                           : rep::counted(advice_.findings.size(), "finding", "findings");
    text += fmt::format("; {} did not fire, {} lacked data",
                        rep::counted(advice_.silent.size(), "rule", "rules"),
                        rep::count(advice_.abstained.size()));
    if (!advice_.silenced.empty()) {
      text += fmt::format(", {} silenced", rep::count(advice_.silenced.size()));
    }
    const bool more = !all_ && !(advice_.abstained.empty() && advice_.silenced.empty());
    text += more ? fmt::format(" ({}).", remedy) : ".";
    out_ += rep::wrap(text, width_) + "\n";
  }

  void heading(const char* text) { out_ += "\n" + styled(text, "1") + "\n"; }

  void abstained() {
    if (advice_.abstained.empty()) return;
    heading("Rules that lacked data");
    for (const Abstention& one : advice_.abstained) {
      std::string text = one.rule + ":";
      for (const auto& [fact, reason] : one.missing) {
        text += fmt::format("{} {} ({})", text.ends_with(':') ? "" : ",", fact, reason);
      }
      indented(text);
    }
  }

  void ids(const char* title, const std::vector<std::string>& rules) {
    if (rules.empty()) return;
    heading(title);
    std::string text;
    for (const std::string& id : rules) text += (text.empty() ? "" : ", ") + id;
    indented(text);
  }

  // Lines that begin with two spaces, the later ones with four.
  void indented(const std::string& text) {
    std::string lines = rep::wrap(rep::printable(text), width_ - 2);
    for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 3) {
      lines.insert(at + 1, "  ");
    }
    out_ += "  " + lines + "\n";
  }

  const Advice& advice_;
  std::size_t width_;
  bool color_, all_, brief_;
  std::string out_;
};

}  // namespace

namespace report {

const char* severity_style(Severity severity) {
  switch (severity) {
    case Severity::critical:
      return "1;31";
    case Severity::warning:
      return "33";
    case Severity::hint:
      return "36";
    case Severity::info:
      break;
  }
  return "2";
}

std::string elsewhere_text(const Rule& rule) {
  std::string range;
  if (rule.gain_high > 0) {
    const std::string high = percent(rule.gain_high);
    if (rule.gain_low == 0) {
      range = fmt::format("up to {} of the time", high);
    } else if (rule.gain_low == rule.gain_high) {
      range = fmt::format("{} of the time", high);
    } else {
      range = fmt::format("{} to {} of the time", percent(rule.gain_low), high);
    }
  }
  if (range.empty() || rule.gain.empty()) return rule.gain + range;
  return fmt::format("{}: {}", range, rule.gain);
}

std::string here_text(const Finding& finding) {
  if (!finding.most_share) return "";
  return fmt::format("no more than {} of the time, which is what this is about",
                     percent(*finding.most_share));
}

std::string evidence_text(const Finding& finding) {
  std::string text;
  for (const auto& [fact, value] : finding.evidence) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", fact,
                        shorten(printable(fact_text(fact, value)), kMaxValue));
  }
  return text;
}

std::string findings_text(const Advice& advice, std::size_t width, bool color, bool brief) {
  AdviceTextOptions options;
  options.width = static_cast<int>(width);
  options.color = color;
  return AdviceText(advice, options, brief).make("genscope advise RUN --all");
}

}  // namespace report

void advice_text(const Advice& advice, const AdviceTextOptions& options, const Sink& sink) {
  sink(AdviceText(advice, options, false).make("--all"));
}

}  // namespace genscope

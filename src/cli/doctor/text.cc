#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/doctor/findings.h"
#include "watch/figures.h"

namespace genscope::cli::doctor {
namespace {

using watch::Line;
using watch::Look;
using watch::Style;

constexpr std::size_t kCost = 9;  // columns of one figure

Style style_of(ProbeState::Kind kind) {
  switch (kind) {
    case ProbeState::Kind::works:
      return Style::good;
    case ProbeState::Kind::absent:
      return Style::dim;
    case ProbeState::Kind::denied:
      return Style::warn;
    case ProbeState::Kind::broken:
      return Style::bad;
  }
  return Style::plain;
}

std::string cost_text(std::int64_t ns) {
  return ns > 0 ? fmt::format("{} us", watch::figure(static_cast<double>(ns) / 1e3)) : "-";
}

std::string share_text(double ratio) {
  return ratio > 0 ? fmt::format("{}%", watch::figure(ratio * 100)) : "-";
}

class Text {
 public:
  explicit Text(const Look& look) : look_(look) {}

  std::string make(const Findings& findings) {
    table(findings);
    for (const ProbeFinding& probe : findings.probes) problem_lines(probe);
    python(findings.python);
    missing(findings.snapshot);
    return std::move(text_);
  }

 private:
  void finish(const Line& line) { text_ += line.text() + "\n"; }

  void row(std::string_view probe, std::string_view state, Style style, std::string_view devices,
           std::string_view series, const std::array<std::string, 4>& costs) {
    Line line(look_);
    line.add(fmt::format("{:<9}", probe));
    line.add(fmt::format("{:<8}", state), style);
    line.add(fmt::format("{:>7} {:>6}", devices, series));
    for (const std::string& cost : costs) line.add(fmt::format(" {:>{}}", cost, kCost));
    finish(line);
  }

  void table(const Findings& findings) {
    row("PROBE", "STATE", Style::plain, "DEVICES", "SERIES", {"FAST", "NORMAL", "SLOW", "CORE"});
    double sum = 0;
    for (const ProbeFinding& probe : findings.probes) {
      const ProbeReport& report = probe.report;
      const bool works = report.state.kind == ProbeState::Kind::works;
      const auto count = [&](std::size_t n) { return works ? std::to_string(n) : "-"; };
      const auto cost = [&](Tier tier) {
        return cost_text(report.tier_cpu_ns[static_cast<std::size_t>(tier)]);
      };
      row(watch::cut(watch::clean(report.name), 8), name(report.state.kind),
          style_of(report.state.kind), count(report.entities), count(report.series),
          {cost(Tier::fast), cost(Tier::normal), cost(Tier::slow), share_text(core_ratio(report))});
      sum += core_ratio(report);
    }
    const double children = children_core_ratio(findings.snapshot);
    if (children > 0) {
      row("children", "", Style::plain, "", "", {"", "", "", share_text(children)});
    }
    finish(Line(look_).add(
        fmt::format("CPU time of one sample of each tier, median. Share of a core at the default "
                    "rates, in all {}.",
                    share_text(sum)),
        Style::dim));
    if (children > 0) {
      finish(Line(look_).add("Children: by their own account, at the quicker rates of this check.",
                             Style::dim));
    }
  }

  void problem_lines(const ProbeFinding& probe) {
    const ProbeState& state = probe.report.state;
    if (state.kind == ProbeState::Kind::works && state.reason.empty()) return;
    text_ += "\n";
    Line line(look_);
    line.add(fmt::format("{} {}: ", probe.report.name, name(state.kind)), style_of(state.kind));
    wrapped(std::move(line), state.reason.empty() ? "no reason given" : state.reason);
    if (state.kind == ProbeState::Kind::works || state.remedy.empty()) return;
    wrapped(Line(look_).add("  remedy: ", Style::bold), state.remedy);
  }

  void python(const std::optional<watch::PythonTrouble>& trouble) {
    text_ += "\n";
    Line line(look_);
    line.add("Python hooks: ", trouble ? Style::bad : Style::good);
    wrapped(std::move(line), trouble ? trouble->reason : "python3 loads them");
    if (trouble) wrapped(Line(look_).add("  remedy: ", Style::bold), trouble->remedy);
  }

  void missing(const Snapshot& snapshot) {
    const std::vector<Gap> all = gaps(snapshot);
    if (all.empty()) return;
    text_ += "\n";
    finish(Line(look_).add("Without a value:", Style::bold));
    for (const Gap& gap : all) {
      const std::string entity =
          gap.entity < snapshot.entities.size() ? snapshot.entities[gap.entity].name : "?";
      std::string status(name(gap.status));
      std::replace(status.begin(), status.end(), '_', ' ');
      wrapped(Line(look_).add("  "),
              fmt::format("{}: {}: {}{}", entity, fmt::join(gap.metrics, ", "), status,
                          gap.reason.empty() ? "" : fmt::format(" ({})", gap.reason)));
    }
  }

  // `text` after `line`, broken at blanks, further lines indented by four.
  void wrapped(Line line, std::string_view text) {
    constexpr std::size_t kIndent = 4;
    const std::string clean = watch::clean(text, look_.unicode);
    std::string_view rest = clean;
    bool begun = false;  // whether a word stands on this line already
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string_view word = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (begun && watch::columns(word) + 1 > line.room()) {
        finish(line);
        line = Line(look_);
        line.to_column(kIndent);
        begun = false;
      }
      if (begun) line.add(" ");
      line.add(word);
      begun = true;
    }
    finish(line);
  }

  const Look& look_;
  std::string text_;
};

}  // namespace

std::string findings_text(const Findings& findings, const Look& look) {
  return Text(look).make(findings);
}

}  // namespace genscope::cli::doctor

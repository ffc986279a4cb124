// The first screen: what a person reads within a minute, and nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <genscope/report.h>

#include "report/advice_text.h"
#include "report/format.h"
#include "report/printable.h"
#include "report/screen_facts.h"
#include "report/stage_shares.h"

namespace genscope {
namespace {

namespace rep = report;

constexpr std::size_t kNarrow = 60, kWide = 100;
constexpr std::size_t kMaxLines = 30;
constexpr std::size_t kTailLines = 4;  // an empty one, the path, the page, the next commands
constexpr std::size_t kMaxBars = 8;
constexpr double kLeastShare = 0.001;   // of a bar
constexpr std::size_t kFactLabel = 10;  // of a fact, its indent included

// The share of this run's time that a finding is about, the most that its advice can gain. What
// others gained is in `genscope advise`.
std::string share_words(const Finding& finding) {
  if (!finding.most_share) return "";
  return fmt::format("at most {} of the time: ", rep::percent(*finding.most_share));
}

class Screen {
 public:
  Screen(const Run& run, const Analysis& analysis, const Advice& advice,
         const ScreenOptions& options)
      : run_(run),
        analysis_(analysis),
        advice_(advice),
        options_(options),
        width_(std::clamp<std::size_t>(
            options.width > 0 ? static_cast<std::size_t>(options.width) : kWide, kNarrow, kWide)) {}

  std::string make() {
    head();
    bars();
    facts();
    notes();
    findings();
    tail();
    return std::move(out_);
  }

 private:
  std::string styled(const std::string& text, const char* style) const {
    return options_.color && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : text;
  }

  void line(const std::string& text) {
    out_ += text + "\n";
    ++lines_;
  }

  void head() {
    std::string text = rep::wrap(headline(run_, analysis_, advice_), width_);
    const RunEnd how = run_ending(run_).how;
    const bool bad = how == RunEnd::failed || how == RunEnd::killed;
    lines_ += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    line(styled(text, bad ? "1;31" : "1"));
    line("");
  }

  // A bar of `cells` columns for a share, in eighths of a column where the terminal can show them.
  std::string bar(double share, std::size_t cells) const {
    static constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    share = std::clamp(share, 0.0, 1.0);
    const auto eighths = static_cast<std::size_t>(share * static_cast<double>(cells) * 8 + 0.5);
    const std::size_t full = options_.unicode ? eighths / 8 : (eighths + 4) / 8;
    std::string text;
    for (std::size_t i = 0; i < full; ++i) text += options_.unicode ? "█" : "#";
    std::size_t used = full;
    if (options_.unicode && eighths % 8 > 0) {
      text += kEighths[eighths % 8];
      ++used;
    }
    return styled(text, "36") + std::string(cells - std::min(cells, used), ' ');
  }

  struct Bar {
    std::string name;
    double share = 0;
    std::int64_t ns = 0;
  };

  void draw(const std::vector<Bar>& rows) {
    constexpr std::size_t kLongest = 32, kShare = 7, kTime = 9, kGaps = 5;
    std::size_t names = 0;
    for (const Bar& row : rows) names = std::max(names, rep::columns(row.name));
    names = std::min({names, kLongest, width_ - 2 - kShare - kTime - kGaps - 10});
    const std::size_t cells = width_ - 2 - names - kShare - kTime - kGaps;
    for (const Bar& row : rows) {
      const std::string name = rep::shorten(row.name, names);
      line(fmt::format("  {}{}  {} {:>{}}  {:>{}}", name,
                       std::string(names - rep::columns(name), ' '), bar(row.share, cells),
                       rep::percent(row.share), kShare, rep::duration(row.ns), kTime));
    }
  }

  // The stages with the most time of their own, where they lie in one another.
  void bars() {
    const StageTree& tree = analysis_.stage_tree;
    const rep::StageShares shares = rep::stage_shares(tree);
    if (shares.rows.empty()) return unmarked();
    std::size_t shown = 1;
    while (shown < std::min(kMaxBars, shares.rows.size()) &&
           shares.rows[shown].share >= kLeastShare) {
      ++shown;
    }
    std::vector<double> share_of(tree.nodes.size(), -1);  // -1: not shown
    double rest = 0;
    for (std::size_t i = 0; i < shares.rows.size(); ++i) {
      if (i < shown) {
        share_of[shares.rows[i].node] = shares.rows[i].share;
      } else {
        rest += shares.rows[i].share;
      }
    }
    std::vector<Bar> rows;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      if (share_of[i] < 0) continue;
      std::size_t depth = 0;
      for (std::uint32_t up = tree.nodes[i].parent; up != kNone; up = tree.nodes[up].parent) {
        depth += share_of[up] >= 0 ? 1 : 0;
      }
      rows.push_back({std::string(2 * std::min<std::size_t>(depth, 4), ' ') +
                          rep::printable(tree.nodes[i].name),
                      share_of[i], std::max<std::int64_t>(0, tree.nodes[i].self_ns)});
    }
    rows.push_back({"outside stages", shares.outside_share, tree.outside_ns});
    draw(rows);
    if (shares.rows.size() > shown) {
      line(styled(fmt::format("  {}: {} in all",
                              rep::counted(shares.rows.size() - shown, "more stage", "more stages"),
                              rep::percent(rest)),
                  "2"));
    }
    line("");
  }

  // Where the time of the processes went, if nothing says where it went in the program.
  void time_bars() {
    const TimeSplit& time = analysis_.resources.time;
    if (!time.on_cpu_share || !time.storage_share || !time.other_share) return;
    const double wall_ns = static_cast<double>(analysis_.wall_ns);
    std::vector<Bar> rows;
    const auto add = [&](const char* name, double share) {
      rows.push_back({name, share, static_cast<std::int64_t>(share * wall_ns)});
    };
    add("on a CPU", *time.on_cpu_share);
    add("ready, no CPU was free", time.ready_share.value_or(0));
    add("waiting for storage", *time.storage_share);
    add("asleep or waiting", *time.other_share);
    draw(rows);
    line("");
  }

  // What to write to see stages, in the language that recorded the run.
  void unmarked() {
    time_bars();
    if (!options_.notes.empty()) return;  // they say more
    const bool python = rep::is_of_python(run_);
    fact("stages", python ? "none; mark them: with genscope.stage(\"denoise\"): ..."
                          : "none; mark them: genscope::Stage stage{\"denoise\"};");
  }

  void fact(const char* label, const std::string& text, const char* style = nullptr) {
    std::string lines = rep::wrap(text, width_ - kFactLabel);
    for (std::string_view rest = lines; !rest.empty();) {
      const std::string value(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(std::min(rest.size(), value.size() + 1));
      line(fmt::format("  {:<{}}{}", label, kFactLabel - 2,
                       style == nullptr ? value : styled(value, style)));
      label = "";
    }
  }

  // What the headline does not hold of it.
  void last_words() {
    if (run_.last_words.size() < 2) return;
    const char* label = "stderr";
    for (const std::string& words : run_.last_words) {
      line(fmt::format("  {:<{}}{}", label, kFactLabel - 2,
                       rep::shorten_end(rep::printable(words), width_ - kFactLabel)));
      label = "";
    }
  }

  void facts() {
    last_words();
    steps();
    for (const rep::ScreenFact& one : rep::screen_facts(run_, analysis_)) {
      fact(one.label, one.text, one.doubtful ? "33" : nullptr);
    }
  }

  void steps() {
    const StepSummary& s = analysis_.steps;
    if (s.count == 0) return;
    std::string text = fmt::format("{}: median {}", rep::count(s.count),
                                   rep::duration(s.steady_p50_ns.value_or(s.p50_ns)));
    if (s.count > 1) {
      text += fmt::format(", first {}, slowest {} (step {})", rep::duration(s.first_ns),
                          rep::duration(s.max_ns), rep::count(s.max_index + 1));
    }
    const std::size_t used = kFactLabel + rep::columns(text) + 2;
    constexpr std::size_t kFewest = 6;
    if (s.count > 2 && used + kFewest <= width_) {
      text = rep::sparkline(s.shape_ns, width_ - used, options_.unicode) + "  " + text;
    }
    fact("steps", text);
  }

  void notes() {
    for (const std::string& note : options_.notes) {
      std::string lines = rep::columns(note) > width_ - 2 ? rep::wrap(note, width_ - 4) : note;
      for (std::string_view rest = lines; !rest.empty();) {
        const std::string one(rest.substr(0, rest.find('\n')));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        line("  " + styled(one, "33"));
      }
    }
  }

  // As many as there is room for.
  void findings() {
    const std::vector<Finding>& all = advice_.findings;
    if (lines_ > 2 && !all.empty()) line("");
    const std::size_t room = kMaxLines - std::min(kMaxLines, lines_ + kTailLines);
    std::size_t shown = std::min(all.size(), room / 2);
    if (shown < all.size() && 2 * shown + 1 > room && shown > 0) --shown;
    for (std::size_t i = 0; i < shown; ++i) finding(all[i]);
    if (shown < all.size()) {
      line(styled(fmt::format("{} in `genscope advise{}`",
                              rep::counted(all.size() - shown, "more finding", "more findings"),
                              run_word()),
                  "2"));
    }
  }

  void finding(const Finding& found) {
    const Rule& rule = found.rule;
    const std::string severity = fmt::format("{:<8}", name(rule.severity));
    const std::string id = fmt::format(" ({})", rep::printable(rule.id));
    line(styled(severity, rep::severity_style(rule.severity)) + " " +
         rep::shorten(rep::printable(rule.title), width_ - 9 - rep::columns(id)) + styled(id, "2"));
    line("         " +
         rep::shorten_end(share_words(found) + rep::printable(found.advice), width_ - 9));
  }

  std::string run_word() const {
    return options_.run.empty() ? "" : " " + rep::printable(options_.run);
  }

  void tail() {
    if (!run_.path.empty()) {
      line("");
      line("Recorded in " + rep::printable(run_.path));
      if (!options_.page.empty()) line("In a browser: " + rep::printable(options_.page));
      const std::string word = run_word();
      std::string next = fmt::format("Next: genscope report{} --full", word);
      for (const std::string& more : {fmt::format("genscope advise{}", word),
                                      fmt::format("genscope report{} -o report.html", word)}) {
        if (rep::columns(next) + 3 + rep::columns(more) <= width_) next += " | " + more;
      }
      line(styled(next, "2"));
    }
  }

  const Run& run_;
  const Analysis& analysis_;
  const Advice& advice_;
  const ScreenOptions& options_;
  std::size_t width_;
  std::size_t lines_ = 0;
  std::string out_;
};

}  // namespace

void report_screen(const Run& run, const Analysis& analysis, const Advice& advice,
                   const ScreenOptions& options, const Sink& sink) {
  sink(Screen(run, analysis, advice, options).make());
}

}  // namespace genscope

// genscope bench history
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/terminal.h"
#include "bench/history/history_page.h"
#include "bench/history/history_text.h"
#include "cli/bench/printing.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kHistoryFooter =
    "Results of the same work on the same kind of machine, in the order of time: where the level\n"
    "changed, whether it creeps, whether the newest fits. Without --suite, what was measured "
    "last.\n"
    "docs/bench-history.md tells the method.\n\n"
    "Examples:\n"
    "  genscope bench history\n"
    "  genscope bench history rss_peak_bytes --suite nightly --cell size=512x512\n"
    "  genscope bench history --accept last --note 'larger model'\n"
    "  genscope bench history --check        # for CI\n"
    "  genscope bench history --html history.html\n"
    "  genscope bench history --rebuild\n\n"
    "Exit codes:\n"
    "  0    fine\n"
    "  1    with --check: the level got worse and nobody accepted it, or the newest is worse\n"
    "  2    usage\n"
    "  5    the environment: no space, an I/O error\n"
    "  7    there are no results\n";

class HistoryVerb final : public Command {
 public:
  const char* name() const override { return "history"; }
  const char* summary() const override { return "A figure over time: levels, trend, the newest"; }

  void add_options(Options& options) override {
    options.add("METRIC", metric_, "",
                "rss_peak_bytes, energy_j, ...; default: latency_s, and with --html all");
    options.add("--suite", suite_, "NAME", "Results of this suite");
    options.add("--cell", cell_, "ID", "Results of this cell alone");
    options.add("--target", target_, "VALUE", "What it must keep to; default: the suite's target");
    options.add("--effect", effect_percent_, "PERCENT", "Smallest change of level that counts")
        .range(0.1, 1000)
        .show_default();
    options.add("--rows", rows_, "N", "Newest results in the table; 0: all").show_default();
    options.add("--accept", accept_, "RESULT",
                "Accept that a new level begins there: a result, or its number in the table");
    options.add("--note", note_, "TEXT", "Why, with --accept");
    options.flag("--check", check_, "Exit with 1 if it got worse");
    options.flag("--rebuild", rebuild_, "Make the index anew from the files of results");
    options.flag("--json", json_, "Print JSON");
    options.flag("--md", markdown_, "Print Markdown");
    options.add("--html", html_, "PATH", "Write a page: a chart for each metric; - is stdout");
    options.footer(kHistoryFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (rebuild_) return rebuild(globals);
    Result<core::Folder> folder = core::open_folder();
    if (!folder) return folder.error();
    print_notes(folder->notes, globals);
    const auto all = collect(*folder);
    if (!all) {
      fail(all.error());
      const bool missing = all.error().code == ErrorCode::not_found;
      return missing ? int{kNothingMeasured} : int{exit_code(all.error().code)};
    }
    if (accept_) return accept(*all, globals);
    std::vector<core::ShownSeries> shown;
    for (const core::Series& series : *all) shown.push_back(analyzed(series));
    const Status done = html_.empty() ? print_text(text_of(shown, globals)) : write_page(shown);
    if (!done) return done.error();
    return check_ && std::ranges::any_of(shown, got_worse) ? int{kVerdictFailed} : int{kFine};
  }

 private:
  core::SeriesFilter filter_of(const std::string& metric) const {
    core::SeriesFilter filter;
    filter.metric = metric;
    filter.suite = suite_;
    filter.cell = cell_;
    return filter;
  }

  // Of one metric; for a page of every one that there is.
  Result<std::vector<core::Series>> collect(const core::Folder& folder) const {
    auto all = core::collect_series(folder, filter_of(metric_.empty() ? "latency_s" : metric_));
    if (html_.empty() || !metric_.empty()) return all;
    const Result<std::vector<std::string>> metrics = core::metrics_in(folder);
    if (!metrics) return metrics.error();
    std::vector<core::Series> found;
    for (const std::string& metric : *metrics) {
      const auto some = core::collect_series(folder, filter_of(metric));
      if (some) found.insert(found.end(), some->begin(), some->end());
    }
    if (found.empty()) return all;
    return found;
  }

  // A target is of the metric that was asked for.
  core::ShownSeries analyzed(const core::Series& series) const {
    const bool asked = series.metric == (metric_.empty() ? "latency_s" : metric_);
    return core::shown_series(series, effect_percent_ / 100, asked ? target_ : std::nullopt);
  }

  Status write_page(const std::vector<core::ShownSeries>& shown) const {
    std::vector<core::HistorySeries> drawn;
    for (const core::ShownSeries& one : shown) drawn.push_back(core::drawn_series(one));
    Result<Output> output = Output::open(html_);
    if (!output) return output.error();
    core::history_html(drawn, core::history_head(shown), output->sink());
    return output->commit();
  }

  static bool got_worse(const core::ShownSeries& shown) {
    const core::HistoryAnalysis& found = shown.analysis;
    // A level that got worse and better again is no longer worse.
    const bool level = !found.changes.empty() && found.changes.back().confirmed &&
                       found.changes.back().worse && !found.changes.back().accepted;
    return level || (found.newest && found.newest->verdict == "worse");
  }

  std::string text_of(const std::vector<core::ShownSeries>& all, const Globals& globals) const {
    if (json_) return core::history_json(all);
    std::string text;
    for (const core::ShownSeries& one : all) {
      if (!text.empty()) text += "\n";
      if (markdown_) {
        text += core::history_markdown(one, rows_);
      } else {
        text += core::history_text(
            one, {static_cast<std::size_t>(base::output_width()), base::use_color(globals.color),
                  base::output_is_utf8(), rows_});
      }
    }
    return text;
  }

  // The result that --accept names, of this series; a number counts as in the table.
  static std::optional<std::string> accepted_in(const core::Series& series,
                                                const std::string& name) {
    std::size_t place = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), place);
    if (error == std::errc() && end == name.data() + name.size() && place < series.points.size()) {
      return series.points[place].run;
    }
    const Result<core::BenchResult> found = core::find_result(name);
    if (!found) return std::nullopt;
    const auto is_it = [&](const core::SeriesPoint& point) { return point.run == found->id; };
    if (std::ranges::none_of(series.points, is_it)) return std::nullopt;
    return found->id;
  }

  Result<int> accept(const std::vector<core::Series>& all, const Globals& globals) const {
    std::size_t accepted = 0;
    for (const core::Series& series : all) {
      const std::optional<std::string> run = accepted_in(series, *accept_);
      if (!run) continue;
      const Status done = core::write_accepted(
          core::runs_folder(),
          {*run, series.cell, series.metric, base::realtime_ns() / 1000, note_});
      if (!done) return done.error();
      ++accepted;
      if (!globals.quiet) {
        std::printf("%s%s%s: accepted from %s on\n", series.metric.c_str(),
                    series.cell.empty() ? "" : " of ", series.cell.c_str(), run->c_str());
      }
    }
    if (accepted == 0) {
      return Error{ErrorCode::not_found,
                   fmt::format("'{}' is no result of this history; the table of `genscope bench "
                               "history --rows 0` lists them",
                               *accept_)};
    }
    (void)core::open_folder();  // brings the index up to date
    return kFine;
  }

  Result<int> rebuild(const Globals& globals) const {
    const Result<core::Rebuilt> rebuilt = core::rebuild_index(core::runs_folder());
    if (!rebuilt) return rebuilt.error();
    print_notes(rebuilt->unreadable, globals);
    if (globals.quiet) return kFine;
    std::printf(
        "%s: %llu results%s%s\n", core::index_path(core::runs_folder()).c_str(),
        static_cast<unsigned long long>(rebuilt->results),
        rebuilt->unreadable.empty()
            ? ""
            : fmt::format(", {} files left out", rebuilt->unreadable.size()).c_str(),
        rebuilt->journal == "wal" ? "" : ", with a rollback journal (a network file system)");
    return kFine;
  }

  std::string metric_, note_, html_;
  std::optional<std::string> suite_, cell_, accept_;
  std::optional<double> target_;
  double effect_percent_ = 2;
  std::uint64_t rows_ = 20;
  bool check_ = false, rebuild_ = false, json_ = false, markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> make_history() { return std::make_unique<HistoryVerb>(); }

}  // namespace genscope::cli::bench

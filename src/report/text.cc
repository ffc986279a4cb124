// The report for people.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>

#include <genscope/report.h>

#include "report/advice_text.h"
#include "report/clocks_text.h"
#include "report/format.h"
#include "report/generation_text.h"
#include "report/integrity.h"
#include "report/printable.h"
#include "report/resources_text.h"
#include "report/shown_rows.h"
#include "report/stacks.h"
#include "report/table.h"
#include "report/telemetry_text.h"

namespace genscope {
namespace {

namespace rep = report;

// More rows than a person reads; JSON and CSV have all.
constexpr std::size_t kMaxStages = 200;
constexpr std::size_t kMaxTracks = 32;
constexpr std::size_t kMaxCounters = 64;

class TextReport {
 public:
  TextReport(const Run& run, const Analysis& analysis, const Advice& advice,
             const TextOptions& options)
      : run_(run),
        analysis_(analysis),
        advice_(advice),
        width_(rep::text_width(options.width)),
        color_(options.color),
        stages_only_(options.stages_only) {}

  std::string make() {
    if (!stages_only_) {
      header();
      telemetry();
    }
    stages();
    section(rep::steps_section(analysis_));
    if (!stages_only_) {
      for (const rep::Section& part : rep::generation_sections(analysis_)) section(part);
      for (const rep::Section& part : rep::resource_sections(analysis_.resources)) section(part);
      section(rep::sampled_section(analysis_));
      tracks();
      own_metrics();
      counters();
      recorder();
    }
    findings();
    return std::move(out_);
  }

 private:
  static constexpr const char* kBold = "1";
  static constexpr const char* kYellow = "33";

  std::string styled(std::string text, const char* style) const {
    return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : text;
  }

  void line(const std::string& text) { out_ += text + "\n"; }
  void sentence(const std::string& text) { line(rep::wrap(text, width_)); }
  void warning(const std::string& text) { line(styled(rep::wrap(text, width_), kYellow)); }
  void heading(const char* text) { line("\n" + styled(text, kBold)); }

  void field(const char* label, const std::string& value) {
    constexpr std::size_t kLabel = 11;
    line(fmt::format("  {:<9}{}", label, rep::shorten(value, width_ - kLabel)));
  }

  void header() {
    const std::string name = rep::printable(run_.name);
    line(styled(name.empty() ? "run" : rep::shorten(name, width_), kBold));
    if (!run_.id.empty()) field("id", rep::printable(run_.id));
    if (!run_.path.empty()) field("path", rep::printable(run_.path));
    if (!run_.command.empty()) field("command", rep::command_line(run_.command));
    if (!run_.host.empty()) field("host", rep::printable(run_.host));
    if (run_.started_unix_ns != 0) field("started", rep::utc_time(run_.started_unix_ns));
    field("wall", analysis_.wall_ns > 0 ? rep::duration(analysis_.wall_ns) : "not known");
    field("recorded", rep::counted(run_.traces.size(), "process", "processes"));
    if (run_.exit_code) field("exit", fmt::format("{}", *run_.exit_code));
  }

  void telemetry() {
    for (const rep::Fact& fact : rep::usage_facts(analysis_)) {
      field(fact.label.c_str(), fact.value);
    }
    const rep::Table devices = rep::device_table(analysis_.telemetry);
    const std::vector<std::string> sentences = rep::telemetry_sentences(analysis_.telemetry);
    if (!devices.empty()) {
      heading("Devices");
      out_ += devices.render(width_, color_);
    }
    if (!sentences.empty()) line("");
    for (const std::string& text : sentences) sentence(text);
  }

  void more(std::size_t all, std::size_t shown) {
    if (all > shown) line(fmt::format("... and {} more; -f json has all", rep::count(all - shown)));
  }
  // Of a table with a row of others in it.
  template <class Row>
  void more(const std::vector<Row>& all, std::size_t shown) {
    const std::string text = rep::left_out_text(all, shown);
    if (!text.empty()) line(text);
  }

  void stages() {
    if (analysis_.stages.empty()) {
      line("\nNo spans were recorded.");
      return;
    }
    heading("Stages");
    const auto& all = analysis_.stages;
    const bool device = std::any_of(all.begin(), all.end(), [](auto& r) { return r.device_ns; });
    const bool energy =
        std::any_of(all.begin(), all.end(), [](auto& r) { return r.energy_joules; });
    const bool failed = std::any_of(all.begin(), all.end(), [](auto& r) { return r.failed > 0; });
    const bool open = std::any_of(all.begin(), all.end(), [](auto& r) { return r.unfinished > 0; });
    std::vector<rep::Table::Column> columns = {
        {"name", true, 0},  {"kind", true, 0},   {"count", false, 0}, {"total", false, 0},
        {"self", false, 2}, {"share", false, 1}, {"min", false, 9},   {"mean", false, 7},
        {"p50", false, 5},  {"p95", false, 6},   {"p99", false, 8},   {"max", false, 4}};
    if (device) columns.push_back({"device", false, 3});
    if (energy) columns.push_back({"energy", false, 3});
    if (failed) columns.push_back({"failed", false, 0});
    if (open) columns.push_back({"open", false, 0});
    rep::Table table(std::move(columns));
    const std::vector<std::size_t> shown = rep::shown_rows(all, kMaxStages);
    for (const std::size_t i : shown) {
      std::vector<std::string> cells = stage_cells(all[i]);
      if (device) cells.push_back(all[i].device_ns ? rep::duration(*all[i].device_ns, true) : "-");
      if (energy) {
        cells.push_back(all[i].energy_joules ? rep::energy(*all[i].energy_joules) : "-");
      }
      if (failed) cells.push_back(rep::count(all[i].failed));
      if (open) cells.push_back(rep::count(all[i].unfinished));
      table.add(std::move(cells));
    }
    out_ += table.render(width_, color_);
    more(all, shown.size());
    sentence(rep::clocks_sentence(analysis_));
  }

  std::vector<std::string> stage_cells(const StageRow& r) const {
    std::vector<std::string> cells = {rep::printable(r.name),
                                      std::string(name(r.kind)),
                                      rep::count(r.count),
                                      rep::duration(r.total_ns, true),
                                      rep::duration(r.self_ns, true),
                                      analysis_.wall_ns > 0 ? rep::percent(r.share) : "-"};
    const auto of_finished = [&](double ns) { return r.count > 0 ? rep::duration(ns, true) : "-"; };
    cells.push_back(of_finished(static_cast<double>(r.min_ns)));
    cells.push_back(of_finished(r.mean_ns));
    for (const std::int64_t ns : {r.p50_ns, r.p95_ns, r.p99_ns, r.max_ns}) {
      cells.push_back(of_finished(static_cast<double>(ns)));
    }
    return cells;
  }

  void section(const rep::Section& part) {
    if (part.empty()) return;
    heading(part.title.c_str());
    for (const std::string& text : part.sentences) sentence(text);
    if (part.table.empty()) return;
    out_ += part.table.render(width_, color_);
    more(part.left_out, 0);
  }

  void tracks() {
    std::vector<const TrackRow*> rows;
    for (const TrackRow& row : analysis_.tracks) {  // a sampler's thread has samples, no spans
      if (row.spans + row.dropped_spans + row.dropped_records > 0) rows.push_back(&row);
    }
    if (rows.empty()) return;
    heading("Threads");
    rep::Table table({{"thread", true}, {"pid"}, {"tid"}, {"spans"}, {"busy"}, {"dropped"}});
    if (rows.size() > kMaxTracks) {
      std::stable_sort(rows.begin(), rows.end(), [](const TrackRow* a, const TrackRow* b) {
        return a->busy_ns > b->busy_ns;
      });
    }
    const std::size_t shown = std::min(rows.size(), kMaxTracks);
    for (std::size_t i = 0; i < shown; ++i) {
      const TrackRow& r = *rows[i];
      table.add({r.name.empty() ? "-" : rep::printable(r.name), fmt::format("{}", r.pid),
                 r.tid != 0 ? fmt::format("{}", r.tid) : "-", rep::count(r.spans),
                 rep::duration(r.busy_ns, true), rep::count(r.dropped_spans + r.dropped_records)});
    }
    out_ += table.render(width_, color_);
    more(rows.size(), shown);
  }

  void own_metrics() {
    const rep::Table table = rep::own_metrics_table(analysis_.telemetry);
    if (table.empty()) return;
    heading("Own metrics");
    out_ += table.render(width_, color_);
  }

  void counters() {
    if (analysis_.counters.empty()) return;
    heading("Counters");
    rep::Table table({{"counter", true},
                      {"values"},
                      {"first"},
                      {"last"},
                      {"min"},
                      {"mean"},
                      {"max"},
                      {"not finite", false, 1}});
    const std::vector<std::size_t> shown = rep::shown_rows(analysis_.counters, kMaxCounters);
    for (const std::size_t i : shown) {
      const CounterRow& c = analysis_.counters[i];
      const bool one = c.folded == 0;
      const auto finite = [&](double v) { return c.count > c.not_finite ? rep::number(v) : "-"; };
      table.add({rep::printable(c.name), rep::count(c.count), one ? rep::number(c.first) : "-",
                 one ? rep::number(c.last) : "-", finite(c.min), finite(c.mean), finite(c.max),
                 rep::count(c.not_finite)});
    }
    out_ += table.render(width_, color_);
    more(analysis_.counters, shown.size());
  }

  void recorder() {
    heading("Recorder");
    const RecorderSummary& r = analysis_.recorder;
    std::string text = fmt::format("{}, {}, {} in {}", rep::counted(r.spans, "span", "spans"),
                                   rep::counted(r.events, "event", "events"),
                                   rep::counted(r.counters, "counter value", "counter values"),
                                   rep::bytes(r.bytes));
    if (r.spans > 0 && r.bytes > 0) {
      text += fmt::format(" ({:.3g} bytes per span)",
                          static_cast<double>(r.bytes) / static_cast<double>(r.spans));
    }
    sentence(text);
    if (r.probe_cpu_ns) {
      std::string cost = fmt::format("Sampling took {} of CPU", rep::duration(*r.probe_cpu_ns));
      if (analysis_.wall_ns > 0) {
        cost +=
            fmt::format(", {} of one core", rep::percent(static_cast<double>(*r.probe_cpu_ns) /
                                                         static_cast<double>(analysis_.wall_ns)));
      }
      sentence(cost);
    }
    const bool lost = r.dropped_spans + r.dropped_records > 0;
    for (const std::string& loss : rep::loss_sentences(analysis_)) {
      lost ? warning(loss) : sentence(loss);
    }
    for (const std::string& damage : rep::integrity_sentences(run_)) warning(damage);
    const rep::InstrumentSentences hooks = rep::instrument_sentences(analysis_);
    if (!hooks.hooked.empty()) sentence(hooks.hooked);
    for (const std::string& failure : hooks.failed) warning(failure);
    for (const std::string& mixed : rep::mixed_setting_sentences(analysis_)) sentence(mixed);
  }

  void findings() {
    if (stages_only_ && advice_.findings.empty()) return;
    heading("Findings");
    out_ += rep::findings_text(advice_, width_, color_, stages_only_);
  }

  const Run& run_;
  const Analysis& analysis_;
  const Advice& advice_;
  std::size_t width_;
  bool color_;
  bool stages_only_;
  std::string out_;
};

}  // namespace

void report_text(const Run& run, const Analysis& analysis, const Advice& advice,
                 const TextOptions& options, const Sink& sink) {
  sink(TextReport(run, analysis, advice, options).make());
}

}  // namespace genscope

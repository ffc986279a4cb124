// Reports and advice as Markdown. Text of others is escaped: a name is no markup.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

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
namespace report {
namespace {

constexpr std::size_t kMaxStages = 200;

std::string escaped(std::string_view text) { return markdown_text(printable(text)); }

std::string heading_table(const Run& run, const Analysis& analysis) {
  Table table({{"", true}, {"", true}});
  if (!run.id.empty()) table.add({"id", printable(run.id)});
  if (!run.command.empty()) table.add({"command", command_line(run.command)});
  if (!run.host.empty()) table.add({"host", printable(run.host)});
  if (run.started_unix_ns != 0) table.add({"started", utc_time(run.started_unix_ns)});
  table.add({"wall", analysis.wall_ns > 0 ? duration(analysis.wall_ns) : "not known"});
  table.add({"recorded", counted(run.traces.size(), "process", "processes")});
  if (run.exit_code) table.add({"exit", fmt::format("{}", *run.exit_code)});
  for (const Fact& fact : usage_facts(analysis)) table.add({fact.label, fact.value});
  return table.markdown();
}

std::string stage_table(const Analysis& analysis) {
  const bool device = std::any_of(analysis.stages.begin(), analysis.stages.end(),
                                  [](const StageRow& row) { return row.device_ns.has_value(); });
  std::vector<Table::Column> columns = {{"name", true}, {"kind", true}, {"count"}, {"total"},
                                        {"self"},       {"share"},      {"p50"},   {"p95"},
                                        {"max"},        {"failed"}};
  if (device) columns.push_back({"device"});
  Table table(std::move(columns));
  const std::vector<std::size_t> shown = shown_rows(analysis.stages, kMaxStages);
  for (const std::size_t i : shown) {
    const StageRow& row = analysis.stages[i];
    const auto finished = [&](std::int64_t ns) { return row.count > 0 ? duration(ns) : "-"; };
    std::vector<std::string> cells = {
        printable(row.name),   std::string(name(row.kind)),
        count(row.count),      duration(row.total_ns),
        duration(row.self_ns), analysis.wall_ns > 0 ? percent(row.share) : "-",
        finished(row.p50_ns),  finished(row.p95_ns),
        finished(row.max_ns),  count(row.failed)};
    if (device) cells.push_back(row.device_ns ? duration(*row.device_ns) : "-");
    table.add(std::move(cells));
  }
  std::string out = table.markdown();
  const std::string left_out = left_out_text(analysis.stages, shown.size());
  if (!left_out.empty()) out += "\n" + left_out + "\n";
  return out + "\n" + markdown_text(clocks_sentence(analysis)) + "\n";
}

std::string section_text(const Section& part) {
  std::string out;
  for (const std::string& text : part.sentences) out += "- " + markdown_text(text) + "\n";
  if (part.table.empty()) return out;
  out += (out.empty() ? "" : "\n") + part.table.markdown();
  if (part.left_out > 0) out += fmt::format("\n... and {} more; -f json has all\n", part.left_out);
  return out;
}

std::string finding_item(const Finding& found) {
  const Rule& rule = found.rule;
  std::string out = fmt::format("- **{}** {}: {}\n  - {}\n", name(rule.severity), escaped(rule.id),
                                escaped(rule.title), escaped(found.advice));
  if (!found.evidence.empty()) {
    out += fmt::format("  - evidence: {}\n", markdown_text(evidence_text(found)));
  }
  if (const std::string here = here_text(found); !here.empty()) {
    out += fmt::format("  - here: {}\n", escaped(here));
  }
  if (const std::string elsewhere = elsewhere_text(rule); !elsewhere.empty()) {
    out += fmt::format("  - elsewhere: {}\n", escaped(elsewhere));
  }
  out += fmt::format("  - confidence: {}", name(rule.confidence));
  if (!rule.citation.empty()) out += fmt::format("; source: {}", escaped(rule.citation));
  return out + "\n";
}

std::string findings(const Advice& advice) {
  std::string out;
  for (const Finding& found : advice.findings) out += finding_item(found);
  if (!out.empty()) out += "\n";
  return out + fmt::format("{} fired, {} did not, {} lacked data.\n",
                           counted(advice.findings.size(), "rule", "rules"),
                           count(advice.silent.size()), count(advice.abstained.size()));
}

}  // namespace
}  // namespace report

void report_markdown(const Run& run, const Analysis& analysis, const Advice& advice,
                     const Sink& sink) {
  using namespace report;
  sink(fmt::format("# {}\n\n{}\n\n{}\n", run.name.empty() ? "run" : escaped(run.name),
                   markdown_text(headline(run, analysis, advice)), heading_table(run, analysis)));
  sink("## Stages\n\n");
  sink(analysis.stages.empty() ? "No spans were recorded.\n" : stage_table(analysis));
  std::vector<Section> parts = generation_sections(analysis);
  parts.insert(parts.begin(), steps_section(analysis));
  for (Section& part : resource_sections(analysis.resources)) parts.push_back(std::move(part));
  parts.push_back(sampled_section(analysis));
  for (const Section& part : parts) {
    if (!part.empty()) sink(fmt::format("\n## {}\n\n{}", part.title, section_text(part)));
  }
  std::string doubts;
  for (const std::string& text : loss_sentences(analysis)) doubts += "- " + escaped(text) + "\n";
  for (const std::string& text : integrity_sentences(run)) doubts += "- " + escaped(text) + "\n";
  const InstrumentSentences hooks = instrument_sentences(analysis);
  if (!hooks.hooked.empty()) doubts += "- " + escaped(hooks.hooked) + "\n";
  for (const std::string& text : hooks.failed) doubts += "- " + escaped(text) + "\n";
  for (const std::string& text : mixed_setting_sentences(analysis))
    doubts += "- " + escaped(text) + "\n";
  if (!doubts.empty()) sink("\n## Recorder\n\n" + doubts);
  sink("\n## Findings\n\n" + findings(advice));
}

void advice_markdown(const Advice& advice, bool all, const Sink& sink) {
  using namespace report;
  sink("## Findings\n\n" + findings(advice));
  if (!all) return;
  if (!advice.abstained.empty()) {
    sink("\n## Rules that lacked data\n\n");
    Table table({{"rule", true}, {"what", true}});
    for (const Abstention& one : advice.abstained) {
      std::string missing;
      for (const auto& [fact, reason] : one.missing) {
        missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", fact, reason);
      }
      table.add({printable(one.rule), printable(missing)});
    }
    sink(table.markdown());
  }
  const auto ids = [&](const char* title, const std::vector<std::string>& rules) {
    if (rules.empty()) return;
    std::string text;
    for (const std::string& id : rules) text += (text.empty() ? "" : ", ") + escaped(id);
    sink(fmt::format("\n## {}\n\n{}\n", title, text));
  };
  ids("Did not fire", advice.silent);
  ids("Silenced", advice.silenced);
}

}  // namespace genscope

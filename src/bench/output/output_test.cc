#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/output/output.h"
#include "bench/output/words.h"
#include "bench/output/xml.h"
#include "bench/testing/sample_result.h"
#include "testing/temp_dir.h"

namespace genscope::bench {
namespace {

using nlohmann::json;

template <class F>
std::string made(F&& write) {
  std::string out;
  write(Sink([&](std::string_view piece) { out += piece; }));
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ResultMarkdown, ShowsWhatRegressedFirstAndFoldsWhatDidNot) {
  const BenchResult r = testing::full_result();
  const std::string md = made([&](const Sink& to) { result_markdown(r, to); });
  const std::size_t regressed = md.find("🔴 regressed"), open = md.find("🟡 inconclusive");
  const std::size_t fold = md.find("<details>"), unchanged = md.find("⚪ unchanged");
  EXPECT_LT(regressed, open);
  EXPECT_LT(open, fold);
  EXPECT_LT(fold, unchanged);
  EXPECT_NE(unchanged, std::string::npos);
  EXPECT_NE(md.find("By stage: denoise +70.0 ms (93 %)"), std::string::npos) << md;
  EXPECT_NE(md.find("Exit code 1"), std::string::npos);
}

TEST(ResultMarkdown, EscapesNames) {
  BenchResult r = testing::full_result();
  r.comparisons[0].cell = "a|b<script>";
  const std::string md = made([&](const Sink& to) { result_markdown(r, to); });
  EXPECT_EQ(md.find("<script>"), std::string::npos);
}

TEST(ResultCsv, HasARowForEachCellSlotAndMetric) {
  const BenchResult r = testing::full_result();
  const auto lines = lines_of(made([&](const Sink& to) { result_csv(r, to); }));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_TRUE(lines[0].starts_with("cell,param.steps,param.arch,status,slot,metric,"));
  EXPECT_NE(lines[2].find(",B,latency_s,"), std::string::npos);
  EXPECT_NE(lines[2].find(",regressed,yes,1.05,1.049,1.052,"), std::string::npos) << lines[2];
}

TEST(ResultCsv, RowsAreAsLongAsTheHeaderAndFormulasAreGuarded) {
  BenchResult r;
  Cell good = testing::sample_cell("good", 1);
  good.params = {{"x", "=1+1"}};
  Cell bad;
  bad.id = "@bad";
  bad.status = "failed";
  r.cells = {good, bad};
  const auto lines = lines_of(made([&](const Sink& to) { result_csv(r, to); }));
  for (const std::string& line : lines) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','),
              std::count(lines[0].begin(), lines[0].end(), ','))
        << line;
  }
  EXPECT_NE(lines[1].find("'=1+1"), std::string::npos);
  EXPECT_TRUE(lines.back().starts_with("'@bad"));
}

TEST(ResultJunit, CountsFailuresAndSkips) {
  const BenchResult r = testing::full_result();
  const std::string xml = made([&](const Sink& to) { result_junit(r, to); });
  EXPECT_NE(xml.find("tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"1\""), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<property name=\"ratio\" value=\"1.05\"/>"), std::string::npos);
}

TEST(XmlText, EscapesWhatXmlCannotHold) {
  EXPECT_EQ(xml_text("a<b>&\"'\n"), "a&lt;b&gt;&amp;&quot;&#39;\n");
  EXPECT_EQ(xml_text("\x1b[31m"), "\\x1b[31m");
}

TEST(ResultTrackers, SplitByDirection) {
  BenchResult r = testing::full_result();
  r.cells[0].stats['B']["gpu_util_ratio"] = r.cells[0].stats['B']["latency_s"];
  const json smaller = json::parse(
      made([&](const Sink& to) { result_benchmark_action(r, Direction::lower_is_better, to); }));
  const json bigger = json::parse(
      made([&](const Sink& to) { result_benchmark_action(r, Direction::higher_is_better, to); }));
  ASSERT_EQ(smaller.size(), 2U);
  EXPECT_EQ(smaller[0]["unit"], "s");
  EXPECT_DOUBLE_EQ(smaller[0]["value"], 1.575);
  ASSERT_EQ(bigger.size(), 1U);
  EXPECT_EQ(bigger[0]["name"], "steps=20,arch=mmdit / gpu_util_ratio");
  const json bmf = json::parse(made([&](const Sink& to) { result_bmf(r, to); }));
  EXPECT_EQ(bmf.size(), 2U);
  EXPECT_TRUE(bmf["steps=20,arch=mmdit"]["latency_s"]["lower_value"].is_number());
  const json none = json::parse(made([&](const Sink& to) {
    result_benchmark_action(BenchResult{}, Direction::lower_is_better, to);
  }));
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(json::parse(made([&](const Sink& to) { result_bmf(BenchResult{}, to); })).empty());
}

TEST(ResultAnnotations, AreTenAtMost) {
  BenchResult r = testing::full_result();
  for (int i = 0; i < 40; ++i) r.comparisons.push_back(r.comparisons[0]);
  const auto lines = lines_of(made([&](const Sink& to) { result_annotations(r, to); }));
  EXPECT_EQ(lines.size(), kMostAnnotations);
  EXPECT_TRUE(lines[0].starts_with("::error title=latency_s regressed%3A steps=20%2Carch=mmdit::"))
      << lines[0];
  EXPECT_TRUE(lines.back().starts_with("::notice"));
}

GetEnv fake(std::map<std::string, std::string> values) {
  return [values](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found != values.end() ? std::optional(found->second) : std::nullopt;
  };
}

TEST(CiFiles, AreDetectedByTheEnvironment) {
  EXPECT_EQ(detect_ci(fake({})), Ci::none);
  EXPECT_EQ(detect_ci(fake({{"CI", "true"}, {"GITHUB_ACTIONS", "true"}})), Ci::github);
  EXPECT_EQ(detect_ci(fake({{"CI", "true"}, {"GITLAB_CI", "true"}})), Ci::gitlab);
  EXPECT_EQ(detect_ci(fake({{"JENKINS_URL", "http://x"}})), Ci::other);
  EXPECT_EQ(detect_ci(fake({{"CI", "false"}})), Ci::none);
  EXPECT_EQ(*ci_of("none", fake({{"CI", "1"}})), Ci::none);
  EXPECT_FALSE(ci_of("githup").ok());
}

TEST(CiFiles, AreWrittenAndTheSummaryIsBounded) {
  const genscope::testing::TempDir dir;
  const std::string summary = dir.path() + "/summary.md";
  std::ofstream(summary) << std::string(kLargestSummary - 600, 'x') << "\n";
  const GetEnv env = fake({{"GITHUB_STEP_SUMMARY", summary}});
  std::string printed;
  const auto files = write_ci_files(
      testing::full_result(), Ci::github, dir.path() + "/out",
      [&](std::string_view piece) { printed += piece; }, env);
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(files->size(), 5U);
  for (const std::string& file : *files) EXPECT_TRUE(std::filesystem::exists(file)) << file;
  EXPECT_TRUE(printed.starts_with("::error"));
  EXPECT_LE(std::filesystem::file_size(summary), kLargestSummary);
  std::ifstream in(summary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_TRUE(text.ends_with("The rest is in genscope-summary.md.\n"));
}

TEST(ResultText, TellsVerdictsAndWhy) {
  const BenchResult r = testing::full_result();
  const std::string text = made([&](const Sink& to) { result_text(r, {}, to); });
  EXPECT_NE(text.find("regressed"), std::string::npos);
  EXPECT_NE(text.find("By stage: denoise +70.0 ms (93 %)"), std::string::npos);
  EXPECT_NE(text.find("This machine: governor is powersave"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const std::string colour = made([&](const Sink& to) { result_text(r, {.color = true}, to); });
  EXPECT_NE(colour.find("\x1b[1;31mregressed"), std::string::npos);
}

// Four results at 1 s, then four at 2 s; the second is a spike, the last two levels are accepted.
HistorySeries stepped_history() {
  HistorySeries series;
  series.cell = "steps=<20>";
  series.metric = "latency_s";
  for (int i = 0; i < 8; ++i) {
    HistoryPoint point;
    point.id = "result-" + std::to_string(i) + "<b>";
    point.started = "2026-01-0" + std::to_string(i + 1) + "T02:00:00.000000000Z";
    point.value = i < 4 ? 1 : 2;
    point.lo = point.value * 0.99;
    point.hi = point.value * 1.01;
    series.points.push_back(point);
  }
  series.points[1].spike = true;
  series.points[6].accepted = true;
  series.changes = {{4, 1, 2, true, true, false}};
  series.levels = {{0, 4, 1}, {4, 8, 2}};
  series.limit = 2.5;
  series.remarks = {"Level: 2.00 x since result-4<b>"};
  return series;
}

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(HistoryHtml, DrawsLevelsChangesSpikesAndWhatWasAccepted) {
  const std::string html = made([&](const Sink& to) {
    history_html({stepped_history()}, {"gen.py", {"cpu"}}, to);
  });
  EXPECT_EQ(count_of(html, "<circle class="), 8U);
  EXPECT_EQ(count_of(html, "<circle class=\"spike\""), 1U);
  EXPECT_EQ(count_of(html, "<rect class=\"accepted-mark\""), 1U);
  EXPECT_EQ(count_of(html, "<line class=\"level\""), 2U);
  EXPECT_EQ(count_of(html, "<line class=\"change worse\""), 1U);
  EXPECT_NE(html.find("2.00 x</text>"), std::string::npos) << html;
  EXPECT_NE(html.find("target 2.50 s"), std::string::npos);
  EXPECT_EQ(count_of(html, "<td>result-"), 8U);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

TEST(HistoryHtml, AcceptedAndOpenChangesLookDifferent) {
  HistorySeries series = stepped_history();
  series.changes[0].accepted = true;
  const auto page = [&] { return made([&](const Sink& to) { history_html({series}, {}, to); }); };
  EXPECT_EQ(count_of(page(), "<line class=\"change accepted\""), 1U);
  series.changes[0].accepted = series.changes[0].confirmed = false;
  EXPECT_EQ(count_of(page(), "<line class=\"change open\""), 1U);
  EXPECT_NE(page().find("not confirmed yet"), std::string::npos);
  series.points.clear();
  EXPECT_EQ(page().find("<svg"), std::string::npos);
}

TEST(ResultHtml, IsOneFileWithoutAScript) {
  BenchResult r = testing::full_result();
  r.labels["A"] = "</title><script>alert(1)</script>";
  r.cells[0].id = r.comparisons[0].cell = "<img src=x onerror=alert(1)>";
  ResultPageOptions options;
  options.history = {stepped_history()};
  const std::string html = made([&](const Sink& to) { result_html(r, options, to); });
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(html.find("http:"), std::string::npos);
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(html.find("class=\"change worse\""), std::string::npos);
  EXPECT_NE(html.find("<circle class=\"dot b\""), std::string::npos);
}

TEST(ResultHtml, MapsCellsOverTwoAxes) {
  BenchResult r;
  for (const char* const size : {"512", "1024"}) {
    for (const char* const steps : {"10", "20"}) {
      Cell cell = testing::sample_cell(std::string(size) + "/" + steps, 1);
      cell.params = {{"size", size}, {"steps", steps}};
      r.cells.push_back(cell);
    }
  }
  ResultPageOptions options;
  options.x_axis = "size";
  options.y_axis = "steps";
  const std::string html = made([&](const Sink& to) { result_html(r, options, to); });
  EXPECT_NE(html.find("<th>steps \\ size</th><th>512</th><th>1024</th>"), std::string::npos);
}

TEST(ResultHtml, TakesAnEmptyResult) {
  EXPECT_TRUE(made([&](const Sink& to) { result_html({}, {}, to); }).ends_with("</html>\n"));
}

TEST(CellLabels, KeepsWhatVaries) {
  BenchResult r;
  for (const char* const steps : {"10", "20"}) {
    Cell cell;
    cell.id = std::string("arch=mmdit,steps=") + steps;
    cell.params = {{"arch", "mmdit"}, {"steps", steps}};
    r.cells.push_back(cell);
  }
  const CellLabels label(r);
  EXPECT_EQ(label("arch=mmdit,steps=10"), "steps=10");
  EXPECT_EQ(label("other"), "other");
}

TEST(Words, SayFiguresAndChanges) {
  EXPECT_EQ(figure("latency_s", 1.5), "1.50 s");
  EXPECT_EQ(figure("gpu_util_ratio", 0.452), "45.2 %");
  EXPECT_EQ(change_text(1.05), "+5.0 %");
  EXPECT_EQ(change_text(0.9999), "-0.01 %");
  EXPECT_EQ(change_text(3.111), "3.11 x");
}

TEST(Words, AFailureHasItsReason) {
  EXPECT_EQ(failure_words({FailureClass::timeout, "still running after 5 s"}),
            "timeout: still running after 5 s");
  EXPECT_EQ(failure_words({FailureClass::exit_nonzero, "exit code 2\nusage: x\nno such file\n"}),
            "exit nonzero: exit code 2 (no such file)");
  EXPECT_EQ(failure_words({FailureClass::crash, ""}), "crash");
}

TEST(Words, AVerdictByOwnTimeSaysSo) {
  Comparison c;
  c.metric = "latency_s";
  c.judgement.verdict = Verdict::regressed;
  c.judgement.interval = stats::Interval{0.9, 1.4, 0.95};
  c.judgement.reason = "without the time that others took 18 % more";
  EXPECT_EQ(remark_of(c), "");
  c.judgement.by_own_time = true;
  EXPECT_EQ(remark_of(c), "without the time that others took 18 % more.");
}

TEST(Words, WhatIsFoldedSaysWhy) {
  BenchResult r;
  r.comparisons.resize(3);
  r.comparisons[0].metric = "stage.denoise.total_s";
  r.comparisons[0].judgement.verdict = Verdict::regressed;
  EXPECT_EQ(folded_words({}), "0 comparisons without a change that was found");
  r.comparisons[1].metric = "cpu_s";
  r.comparisons[1].judgement.verdict = Verdict::unchanged;
  r.comparisons[2].metric = "latency_s";
  r.comparisons[2].judgement.verdict = Verdict::regressed;
  EXPECT_EQ(folded_words(r), "2 comparisons: 1 of stages, 1 without a change that was found");
}

}  // namespace
}  // namespace genscope::bench

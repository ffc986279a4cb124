// A result as JUnit XML, which GitLab, Jenkins, Buildkite and GitHub actions show as tests. A
// testcase is a gate (cell x metric), a target, a load, or a cell that failed.
#include <fmt/format.h>

#include "bench/http/load.h"
#include "bench/output/output.h"
#include "bench/output/words.h"
#include "bench/output/xml.h"

namespace genscope::bench {
namespace {

struct TestCase {
  std::string classname, name;
  std::optional<double> seconds;
  std::vector<std::pair<std::string, std::string>> properties;
  enum class Outcome { passed, failed, skipped, error } outcome = Outcome::passed;
  std::string type, message, detail;
};

void put_property(TestCase& t, const char* key, const std::optional<double>& value) {
  if (value) t.properties.emplace_back(key, fmt::format("{}", *value));
}

TestCase gate_case(const Comparison& c) {
  const Judgement& j = c.judgement;
  TestCase t;
  t.classname = c.cell;
  t.name = c.metric;
  if (metric(c.metric).unit == "s") t.seconds = j.after;
  put_property(t, "before", j.before);
  put_property(t, "after", j.after);
  put_property(t, "ratio", j.ratio);
  if (j.interval) {
    put_property(t, "ci_low", j.interval->low);
    put_property(t, "ci_high", j.interval->high);
    put_property(t, "level", j.interval->confidence);
  }
  put_property(t, "p", j.p_value);
  put_property(t, "p_adj", j.p_adjusted);
  put_property(t, "q", j.q);
  put_property(t, "delta", j.floor);
  t.properties.emplace_back("n", fmt::format("{} + {}", j.before_n, j.after_n));
  t.properties.emplace_back("verdict", std::string(name(j.verdict)));
  t.type = std::string(name(j.verdict));
  t.message = fmt::format("{}: {}", verdict_words(j.verdict), j.reason);
  if (j.verdict == Verdict::regressed) {
    t.outcome = TestCase::Outcome::failed;
    t.detail = remark_of(c);
  } else if (j.verdict != Verdict::unchanged && j.verdict != Verdict::improved) {
    t.outcome = TestCase::Outcome::skipped;
  }
  return t;
}

TestCase target_case(const TargetResult& target) {
  TestCase t;
  t.classname = target.cell.empty() ? "targets" : target.cell;
  t.name = fmt::format("target {} {}", target.metric, target.stat);
  put_property(t, "value", target.value);
  put_property(t, "max", target.limit_max);
  put_property(t, "min", target.limit_min);
  t.type = "target";
  if (!target.score) {
    t.outcome = TestCase::Outcome::skipped;
    t.message = target.absent;
    return t;
  }
  put_property(t, "score", target.score->score);
  if (target.score->met) return t;
  t.outcome = TestCase::Outcome::failed;
  t.message = fmt::format("{} is {}", target.metric,
                          target.value ? figure(target.metric, *target.value) : "not known");
  if (target.limit_max) t.message += ", at most " + figure(target.metric, *target.limit_max);
  if (target.limit_min) t.message += ", at least " + figure(target.metric, *target.limit_min);
  return t;
}

TestCase cell_case(const Cell& cell) {
  TestCase t;
  t.classname = cell.id;
  t.name = "measured";
  if (cell.status == "ok") return t;
  t.outcome = cell.status == "failed" ? TestCase::Outcome::error : TestCase::Outcome::skipped;
  t.type = cell.failure ? std::string(name(cell.failure->kind)) : cell.status;
  t.message = cell.failure ? failure_words(*cell.failure) : cell.status;
  if (cell.failure) t.detail = cell.failure->detail;
  return t;
}

// A load with its limits: failures, SLO, goodput. What decides the exit code is exit.cc's.
TestCase load_case(const LoadResultSummary& load) {
  TestCase t;
  t.classname = load.cell.empty() ? "load" : load.cell;
  t.name = load.unit == 0 ? "load " + load.scenario
                          : fmt::format("load {}, unit {}", load.scenario, load.unit);
  put_property(t, "achieved_per_s", load.achieved_per_s);
  put_property(t, "goodput_per_s", load.goodput_per_s);
  put_property(t, "slo_attainment", load.slo_attainment);
  t.type = "load";
  t.message = load_sentence(load);
  BenchResult alone;
  alone.load.push_back(load);
  const Exit judged = decide_exit(alone, true);
  if (!judged.reasons.empty()) t.message = judged.reasons.front();
  if (judged.code == kProductFailed || judged.code == kNothingMeasured) {
    t.outcome = TestCase::Outcome::error;
  } else if (judged.code == kVerdictFailed) {
    t.outcome = TestCase::Outcome::failed;
  } else if (judged.code == kInconclusive) {
    t.outcome = TestCase::Outcome::skipped;
  }
  return t;
}

std::vector<TestCase> cases_of(const BenchResult& r) {
  std::vector<TestCase> all;
  for (const Cell& cell : r.cells) {
    // Without a comparison, that it could be measured is what was tested.
    if (cell.status != "ok" || r.comparisons.empty()) all.push_back(cell_case(cell));
  }
  for (const Comparison& c : r.comparisons) {
    if (c.gate) all.push_back(gate_case(c));
  }
  for (const TargetResult& target : r.targets) all.push_back(target_case(target));
  for (const LoadResultSummary& load : r.load) all.push_back(load_case(load));
  return all;
}

void put_outcome(const TestCase& t, std::string& out) {
  using Outcome = TestCase::Outcome;
  if (t.outcome == Outcome::passed) return;
  if (t.outcome == Outcome::skipped) {
    out += fmt::format("      <skipped message=\"{}\"/>\n", xml_text(t.message));
    return;
  }
  const char* const element = t.outcome == Outcome::failed ? "failure" : "error";
  out += fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", element,
                     xml_text(t.type), xml_text(t.message), xml_text(t.detail));
}

std::string case_xml(const TestCase& t) {
  std::string out = fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml_text(t.classname),
                                xml_text(t.name));
  if (t.seconds) out += fmt::format(" time=\"{}\"", *t.seconds);
  out += ">\n";
  if (!t.properties.empty()) {
    out += "      <properties>\n";
    for (const auto& [key, value] : t.properties) {
      out += fmt::format("        <property name=\"{}\" value=\"{}\"/>\n", key, xml_text(value));
    }
    out += "      </properties>\n";
  }
  put_outcome(t, out);
  return out + "    </testcase>\n";
}

}  // namespace

void result_junit(const BenchResult& r, const Sink& sink) {
  const std::vector<TestCase> all = cases_of(r);
  std::size_t failed = 0, skipped = 0, errors = 0;
  for (const TestCase& t : all) {
    failed += t.outcome == TestCase::Outcome::failed;
    skipped += t.outcome == TestCase::Outcome::skipped;
    errors += t.outcome == TestCase::Outcome::error;
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", all.size(), failed,
                  errors, skipped);
  const std::string title = xml_text(title_of(r));
  sink("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  sink(fmt::format("<testsuites name=\"genscope bench\" {}>\n", counts));
  sink(fmt::format("  <testsuite name=\"{}\" {}", title, counts));
  if (!r.started.empty()) sink(fmt::format(" timestamp=\"{}\"", xml_text(r.started)));
  sink(">\n");
  for (const TestCase& t : all) sink(case_xml(t));
  sink("  </testsuite>\n</testsuites>\n");
}

}  // namespace genscope::bench

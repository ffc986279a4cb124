#include "cli/doctor/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace genscope::cli::doctor {
namespace {

using ::testing::ElementsAre;

void add_series(Snapshot& snapshot, std::uint32_t entity, const char* metric, SampleStatus status,
                const char* reason = nullptr) {
  Snapshot::Series series;
  series.entity = entity;
  series.metric = find_metric(metric);
  series.tier = Tier::normal;
  series.source = "a file";
  series.reading = {1, status, reason, 1};
  snapshot.series.push_back(series);
}

Findings usual() {
  Findings findings;
  ProbeFinding system;
  system.summary = "this machine";
  system.report.name = "system";
  system.report.entities = 1;
  system.report.series = 3;
  system.report.tier_cpu_ns[static_cast<std::size_t>(Tier::fast)] = 10'000;
  system.report.tier_cpu_ns[static_cast<std::size_t>(Tier::normal)] = 120'000;
  ProbeFinding nvml;
  nvml.summary = "NVIDIA GPUs";
  nvml.in_child = true;
  nvml.report.name = "nvml";
  nvml.report.state = {ProbeState::Kind::absent, "libnvidia-ml.so.1 is not installed",
                       "install the NVIDIA driver"};
  findings.probes = {system, nvml};
  findings.snapshot.entities.push_back({EntityKind::machine, "machine", "box", {{"os", "Linux"}}});
  add_series(findings.snapshot, 0, "cpu_busy_ratio", SampleStatus::ok);
  add_series(findings.snapshot, 0, "pressure_cpu_some_ns", SampleStatus::absent, "no PSI");
  add_series(findings.snapshot, 0, "pressure_io_some_ns", SampleStatus::absent, "no PSI");
  add_series(findings.snapshot, 0, "load_1m", SampleStatus::not_permitted);
  return findings;
}

TEST(Doctor, SaysWhyPythonHasNoHooks) {
  Findings findings = usual();
  findings.python = watch::PythonTrouble{"python3 is older than 3.10", "use Python 3.10 or later"};
  EXPECT_THAT(findings_text(findings, {.width = 100, .color = false, .unicode = false}),
              ::testing::HasSubstr("Python hooks: python3 is older than 3.10\n"
                                   "  remedy: use Python 3.10 or later\n"));
  EXPECT_THAT(findings_json(findings), ::testing::HasSubstr("\"state\": \"broken\""));
}

TEST(Doctor, PrintsATableThenReasonsThenGaps) {
  EXPECT_EQ(findings_text(usual(), {.width = 100, .color = false, .unicode = false}),
            "PROBE    STATE   DEVICES SERIES      FAST    NORMAL      SLOW      CORE\n"
            "system   works         1      3   10.0 us    120 us         -    0.022%\n"
            "nvml     absent        -      -         -         -         -         -\n"
            "CPU time of one sample of each tier, median. Share of a core at the default rates, in "
            "all 0.022%.\n"
            "\n"
            "nvml absent: libnvidia-ml.so.1 is not installed\n"
            "  remedy: install the NVIDIA driver\n"
            "\n"
            "Python hooks: python3 loads them\n"
            "\n"
            "Without a value:\n"
            "  box: pressure_cpu_some_ns, pressure_io_some_ns: absent (no PSI)\n"
            "  box: load_1m: not permitted\n");
}

TEST(Doctor, WrapsLongReasonsAndKeepsTheWidth) {
  Findings findings = usual();
  findings.probes[1].report.state.reason = "one two three four five six seven eight nine ten";
  findings.snapshot = {};
  const std::string text = findings_text(findings, {.width = 30, .color = false, .unicode = false});
  EXPECT_NE(text.find("nvml absent: one two three\n    four five six seven eight\n    nine ten\n"),
            std::string::npos)
      << text;
}

TEST(Doctor, EscapesWhatDriversSay) {
  Findings findings = usual();
  findings.probes[1].report.state.reason = "bad\x1b[2J\xff";
  const std::string text = findings_text(findings, {.width = 80, .color = false, .unicode = true});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(findings_json(findings)));
}

TEST(Doctor, GroupsSeriesByEntityStatusAndReason) {
  const std::vector<Gap> found = gaps(usual().snapshot);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].metrics, ElementsAre("pressure_cpu_some_ns", "pressure_io_some_ns"));
  EXPECT_EQ(found[1].status, SampleStatus::not_permitted);
}

TEST(Doctor, CostAtDefaultRates) {
  ProbeReport report;
  report.tier_cpu_ns[static_cast<std::size_t>(Tier::fast)] = 100'000;         // of 100 ms
  report.tier_cpu_ns[static_cast<std::size_t>(Tier::slow)] = 5'000'000;       // of 5 s
  report.tier_cpu_ns[static_cast<std::size_t>(Tier::on_demand)] = 1'000'000;  // only when asked
  EXPECT_DOUBLE_EQ(core_ratio(report), 0.002);
}

TEST(Doctor, JsonHasProbesEntitiesAndSeries) {
  const auto json = nlohmann::json::parse(findings_json(usual()));
  EXPECT_EQ(json["schema"], "genscope.doctor/1");
  EXPECT_EQ(json["probes"][0]["state"], "works");
  EXPECT_EQ(json["probes"][0]["sample_cpu_ns"]["normal"], 120000);
  EXPECT_TRUE(json["probes"][0]["sample_cpu_ns"]["slow"].is_null());
  EXPECT_TRUE(json["probes"][0]["reason"].is_null());
  EXPECT_EQ(json["probes"][1]["remedy"], "install the NVIDIA driver");
  EXPECT_EQ(json["probes"][1]["in_child"], true);
  EXPECT_EQ(json["entities"][0]["facts"]["os"], "Linux");
  EXPECT_EQ(json["series"][1]["metric"], "pressure_cpu_some_ns");
  EXPECT_EQ(json["series"][1]["status"], "absent");
  EXPECT_EQ(json["series"][1]["reason"], "no PSI");
}

}  // namespace
}  // namespace genscope::cli::doctor

#include "genscope/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "config/fields.h"
#include "testing/temp_dir.h"

#include "test_paths.h"

namespace genscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string message(std::string_view text) {
  const Result<Config> parsed = parse_config(text, "f.yaml");
  return parsed.ok() ? "parsed" : parsed.error().message;
}

Config parsed(std::string_view text) {
  const Result<Config> config = parse_config(text, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.error().message;
  return config.ok() ? *config : Config{};
}

// The YAML of Inferix, every key of it.
constexpr std::string_view kDocument002 = R"(
profiling:
  enabled: true
  real_time_display: true
  display_interval: 5.0

  # GPU monitoring
  gpu_monitor_interval: 0.5
  monitor_gpu_memory: true
  monitor_gpu_utilization: true
  monitor_gpu_temperature: true
  monitor_gpu_power: true

  # CPU monitoring (minimal)
  cpu_monitor_interval: 1.0
  monitor_cpu_usage: true
  monitor_system_memory: true

  # Reporting
  generate_final_report: true
  report_format: "both"  # "html", "json", "both"
  output_dir: "./profiling_reports"

  # Advanced options
  max_data_points: 10000
  profile_inference_steps: true
  profile_vae_decode: true
  profile_text_encoding: true
)";

TEST(Config, ReadsTheYamlOfDocument002) {
  const Config config = parsed(kDocument002);
  EXPECT_EQ(config.display_interval, 5.0);
  EXPECT_EQ(config.gpu_monitor_interval, 0.5);
  EXPECT_EQ(config.cpu_monitor_interval, 1.0);
  EXPECT_EQ(config.report_format, ReportFormat::both);
  EXPECT_EQ(config.output_dir, "./profiling_reports");
  EXPECT_EQ(config.max_data_points, 10'000u);
}

TEST(Config, TakesSettingsAtTopLevelAndUnderProfiling) {
  const Config config = parsed("enabled: no\nprofiling:\n  budget: 0.5\n");
  EXPECT_FALSE(config.enabled);
  EXPECT_EQ(config.budget, 0.5);
}

TEST(Config, EmptyFilesGiveTheDefaults) {
  EXPECT_TRUE(parsed("").enabled);
  EXPECT_EQ(parsed("profiling:\n").gpu_monitor_interval, 0.1);
}

TEST(Config, ReadsListsAndTags) {
  const Config config =
      parsed("probes: [nvml, system]\nsession_tags:\n  experiment: optimization_v1\n  seed: 42\n");
  EXPECT_THAT(config.probes, ElementsAre("nvml", "system"));
  EXPECT_THAT(config.session_tags,
              ElementsAre(Pair("experiment", "optimization_v1"), Pair("seed", "42")));
}

TEST(Config, EveryFieldCanBeSetAndRefusesAMap) {
  for (const config::Field& field : config::all_fields()) {
    const std::string name(field.name);
    const bool tags = name == "session_tags";
    EXPECT_NE(message(name + (tags ? ": [1]\n" : ": {a: 1}\n")), "parsed") << name;
    EXPECT_EQ(message(name + ":\n").substr(0, 11 + name.size()), "f.yaml:1: " + name + ":") << name;
  }
}

TEST(Config, NamesUnknownSettingsAndTheNearest) {
  EXPECT_EQ(
      message("enabled: true\nprofiling:\n  gpu_monitr_interval: 1\n"),
      "f.yaml:3: unknown setting 'gpu_monitr_interval'; did you mean 'gpu_monitor_interval'?");
  EXPECT_EQ(message("zebra: 1\n"), "f.yaml:1: unknown setting 'zebra'; docs/config.md lists them");
  EXPECT_EQ(message("profiling:\n  profiling:\n    enabled: true\n"),
            "f.yaml:2: 'profiling' is given twice; first in line 1");
  EXPECT_EQ(message("\"\\e[2J\": 1\n"),
            "f.yaml:1: unknown setting '\\x1b[2J'; docs/config.md lists them");
}

TEST(Config, NamesRepeatedSettings) {
  EXPECT_EQ(message("budget: 0.1\nenabled: true\nbudget: 0.2\n"),
            "f.yaml:3: 'budget' is given twice; first in line 1");
  EXPECT_EQ(message("budget: 0.1\nprofiling:\n  budget: 0.2\n"),
            "f.yaml:3: 'budget' is given twice; first in line 1");
  EXPECT_EQ(message("session_tags:\n  a: 1\n  a: 2\n"),
            "f.yaml:3: session_tags: 'a' is given twice");
  EXPECT_EQ(message("probes: [nvml, nvml]\n"), "f.yaml:1: probes: 'nvml' is given twice");
}

TEST(Config, RefusesWrongTypes) {
  EXPECT_EQ(message("enabled: maybe\n"),
            "f.yaml:1: enabled: expected true or false, found 'maybe'");
  EXPECT_EQ(message("enabled: \"true\"\n"),
            "f.yaml:1: enabled: expected true or false, found 'true'");
  EXPECT_EQ(message("enabled:\n"), "f.yaml:1: enabled: expected true or false, found nothing");
  EXPECT_EQ(message("budget: [1]\n"),
            "f.yaml:1: budget: expected a number from 1e-09 to 1, found a list");
  EXPECT_EQ(message("max_data_points: 1.5\n"),
            "f.yaml:1: max_data_points: expected a whole number from 1 to 10000000, found '1.5'");
  EXPECT_EQ(message("probes: nvml\n"),
            "f.yaml:1: probes: expected a list of at most 64 names, found 'nvml'");
  EXPECT_EQ(message("probes: [[nvml]]\n"), "f.yaml:1: probes: expected a name, found a list");
  EXPECT_EQ(message("session_tags: {a: [1]}\n"),
            "f.yaml:1: session_tags.a: expected a text, found a list");
  EXPECT_EQ(message("- 1\n"), "f.yaml:1: expected settings as `name: value`, found a list");
  EXPECT_EQ(message("profiling: 5\n"),
            "f.yaml:1: expected settings as `name: value`, found a word");
}

TEST(Config, RefusesValuesOutOfRange) {
  for (const char* value : {"0", "-1", "nan", ".nan", "inf", "3600.1", "1e999", "0.0009", "1s"}) {
    EXPECT_EQ(message(std::string("gpu_monitor_interval: ") + value),
              std::string("f.yaml:1: gpu_monitor_interval: expected a number from 0.001 to 3600, "
                          "found '") +
                  value + "'");
  }
  EXPECT_EQ(parsed("gpu_monitor_interval: 3600\n").gpu_monitor_interval, 3600);
  EXPECT_NE(message("budget: 0\n"), "parsed");
  EXPECT_NE(message("max_data_points: 0\n"), "parsed");
  EXPECT_NE(message("max_data_points: 99999999999999999999\n"), "parsed");
  EXPECT_EQ(message("report_format: pdf\n"),
            "f.yaml:1: report_format: expected text, json, csv, html or both, found 'pdf'");
}

TEST(Config, PresetsGiveTheModesOfDocument002) {
  ASSERT_TRUE(preset("development").ok());
  EXPECT_TRUE(preset("development")->save_raw_data);
  const Config production = *preset("production");
  EXPECT_FALSE(production.real_time_display);
  EXPECT_FALSE(production.monitor_gpu_temperature);
  EXPECT_FALSE(production.monitor_gpu_power);
  EXPECT_FALSE(production.profile_text_encoding);
  EXPECT_EQ(skipped_spans(production),
            (std::vector<std::string>{"stage/text_encoding", "stage/text_encode"}));
  EXPECT_EQ(production.report_format, ReportFormat::json);
  const Config debugging = *preset("debugging");
  EXPECT_LT(debugging.gpu_monitor_interval, preset("development")->gpu_monitor_interval);
  EXPECT_GT(production.gpu_monitor_interval, preset("development")->gpu_monitor_interval);
}

TEST(Config, APresetIsAppliedFirstWhereverItStands) {
  const Config config = parsed("max_data_points: 7\npreset: production\n");
  EXPECT_EQ(config.max_data_points, 7u);
  EXPECT_EQ(config.report_format, ReportFormat::json);
}

TEST(Config, UnknownPresetsNameTheNearest) {
  EXPECT_EQ(message("preset: prodction\n"),
            "f.yaml:1: unknown preset 'prodction'; did you mean 'production'?");
  EXPECT_EQ(preset("x").error().message,
            "unknown preset 'x'; there are development, production and debugging");
  EXPECT_EQ(preset("x").error().code, ErrorCode::invalid_argument);
}

TEST(Config, SwitchesDecideOnProbes) {
  Config config;
  EXPECT_THAT(probes(config),
              ElementsAre("process", "system", "cgroup", "rapl", "nvml", "amdgpu", "intel"));
  config.monitor_gpu_memory = config.monitor_gpu_utilization = false;
  config.monitor_gpu_temperature = config.monitor_gpu_power = false;
  EXPECT_THAT(probes(config), ElementsAre("process", "system", "cgroup", "rapl"));
  config.monitor_cpu_usage = false;
  EXPECT_THAT(probes(config), ElementsAre("system", "cgroup"));
  config.monitor_system_memory = false;
  EXPECT_THAT(probes(config), IsEmpty());
  config.probes = {"nvml"};
  EXPECT_THAT(probes(config), ElementsAre("nvml"));
  config.enabled = false;
  EXPECT_THAT(probes(config), IsEmpty());
}

TEST(Config, IntervalsBecomePeriodsOfTiers) {
  EXPECT_EQ(periods(0.1).fast_ns, 100'000'000);
  EXPECT_EQ(periods(0.1).normal_ns, 1'000'000'000);
  EXPECT_EQ(periods(0.1).slow_ns, 5'000'000'000);
  EXPECT_EQ(periods(2).normal_ns, 2'000'000'000);
  EXPECT_EQ(periods(60).slow_ns, 60'000'000'000);
  EXPECT_EQ(periods(0).fast_ns, 100'000'000);
}

TEST(Config, LoadsFilesAndNamesThemInErrors) {
  const testing::TempDir dir;
  EXPECT_EQ(load_config(dir / "none.yaml").error().code, ErrorCode::not_found);
  std::ofstream(dir / "bad.yaml") << "budget: 2\n";
  EXPECT_EQ(load_config(dir / "bad.yaml").error().message,
            dir.path() + "/bad.yaml:1: budget: expected a number from 1e-09 to 1, found '2'");
  EXPECT_FALSE(load_config(dir.path()).ok());
  EXPECT_FALSE(load_config("/dev/zero").ok());
}

TEST(Config, TheExampleLoads) {
  const Result<Config> config = load_config(GENSCOPE_SOURCE_DIR "/examples/genscope.yaml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->gpu_monitor_interval, 0.5);
}

}  // namespace
}  // namespace genscope

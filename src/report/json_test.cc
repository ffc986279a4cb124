#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "report/testing/comparison.h"
#include "report/testing/sample.h"
#include "report/testing/sampled.h"

#include "test_paths.h"

namespace genscope {
namespace {

using Json = nlohmann::json;

Json report_of(const genscope::Run& run) {
  const Analysis analysis = analyze(run);
  return Json::parse(
      testing::written([&](const Sink& sink) { report_json(run, analysis, {}, sink); }));
}

bool is_type(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  ADD_FAILURE() << "a type this check does not know: " << type;
  return false;
}

// The part of JSON Schema that docs/report.schema.json uses. Beyond it: a documented object holds
// no key that is not documented.
void check(const Json& value, const Json& schema, const std::string& path) {
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    bool fits = false;
    for (const Json& type : types) fits |= is_type(value, type);
    EXPECT_TRUE(fits) << path << " is " << value.dump();
  }
  if (schema.contains("const")) {
    EXPECT_EQ(value, schema["const"]) << path;
  }
  if (schema.contains("enum")) {
    EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end())
        << path << " is " << value.dump();
  }
  if (schema.contains("minimum") && value.is_number()) {
    EXPECT_GE(value, schema["minimum"]) << path;
  }
  if (value.is_array() && schema.contains("items")) {
    for (const Json& item : value) check(item, schema["items"], path + "[]");
  }
  if (value.is_object() && schema.contains("properties")) {
    for (const Json& key : schema["required"]) {
      EXPECT_TRUE(value.contains(key)) << path << "." << key << " is missing";
    }
    for (const auto& [key, member] : value.items()) {
      const bool documented = schema["properties"].contains(key);
      EXPECT_TRUE(documented) << path << "." << key << " is not documented";
      if (documented) check(member, schema["properties"][key], path + "." + key);
    }
  }
}

Json schema(const char* name = "report") {
  std::ifstream file(GENSCOPE_SOURCE_DIR "/docs/" + std::string(name) + ".schema.json");
  return Json::parse(file);
}

TEST(JsonReport, HasTheDocumentedShape) {
  auto run = testing::make_run(testing::sample_trace());
  run.traces[0].process.rank = 3;
  run.exit_code = 0;
  check(report_of(run), schema(), "report");
  check(report_of(genscope::Run{}), schema(), "empty run");
  check(report_of(testing::make_run(Trace{})), schema(), "empty trace");
  check(report_of(testing::make_run(testing::generation_trace())), schema(), "generation");
}

TEST(JsonReport, SettingsThatDifferBetweenCalls) {
  testing::TraceBuilder t;
  t.event("config", 1, {{"steps", 20.0}, {"scheduler", "Euler"}});
  t.span("FluxPipeline", SpanKind::request, 2, 5);
  EXPECT_FALSE(report_of(testing::make_run(t.trace())).contains("settings_that_differ"));
  t.event("config", 10, {{"steps", 30.0}});
  for (const int at : {12, 22}) t.span("FluxPipeline", SpanKind::request, at, 5);
  const genscope::Run run = testing::make_run(t.trace());
  const Json r = report_of(run);
  check(r, schema(), "report");
  EXPECT_EQ(r["settings_that_differ"], Json::parse(R"([{"key": "steps", "values": [
      {"value": "20", "requests": 1}, {"value": "30", "requests": 2}]}])"));
  const Analysis analysis = analyze(run);
  const std::string sentence = "steps differs between calls: 20 (1 request), 30 (2 requests)";
  EXPECT_NE(testing::written([&](const Sink& sink) {
              report_text(run, analysis, {}, {}, sink);
            }).find(sentence),
            std::string::npos);
  EXPECT_NE(testing::written([&](const Sink& sink) {
              report_markdown(run, analysis, {}, sink);
            }).find(sentence),
            std::string::npos);
}

TEST(JsonReport, EveryDocumentedKeyIsOnItsPage) {
  std::ifstream file(GENSCOPE_SOURCE_DIR "/docs/report-json.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  const Json top = schema()["properties"];
  for (const auto& [key, part] : top.items()) {
    EXPECT_NE(page.find("| `" + key + "` |"), std::string::npos) << key;
    const Json object = part.contains("items") ? part["items"] : part;
    if (!object.contains("properties")) continue;
    for (const auto& [inner, unused] : object["properties"].items()) {
      EXPECT_NE(page.find("| `" + inner + "` |"), std::string::npos) << key << "." << inner;
    }
  }
}

TEST(JsonReport, HoldsTheFigures) {
  const Json r = report_of(testing::make_run(testing::sample_trace()));
  EXPECT_EQ(r["run"]["wall_ns"], 1'000'000'000);
  EXPECT_EQ(r["run"]["started"], "2023-11-14T22:13:20.123456789Z");
  EXPECT_EQ(r["run"]["processes"], 1);
  EXPECT_EQ(r["stages"][0]["name"], "qwen-image");
  EXPECT_EQ(r["stages"][0]["self_ns"], 100'000'000);
  EXPECT_EQ(r["steps"]["first_ratio"], 2.0);
  EXPECT_EQ(r["recorder"]["dropped"], 0);
  EXPECT_EQ(r["counters"][0]["mean"], 0.375);
}

TEST(JsonReport, WhatIsNotMeasuredIsNullWithAReason) {
  const Json r = report_of(testing::make_run(testing::sample_trace()));
  for (const char* path : {"/process/cpu_ns", "/gpus", "/steps/trend", "/recorder/probe_cpu_ns",
                           "/recorder/probe_steady_ratio", "/run/exit_code", "/run/ranks"}) {
    EXPECT_TRUE(r.at(Json::json_pointer(path)).is_null()) << path;
    std::string dotted = std::string(path).substr(1);
    std::replace(dotted.begin(), dotted.end(), '/', '.');
    EXPECT_TRUE(r["absent"].contains(dotted)) << dotted;
  }
  for (const Json& stage : r["stages"]) {
    if (stage["name"] != "save") continue;
    EXPECT_EQ(stage["count"], 0);
    EXPECT_TRUE(stage["min_ns"].is_null()) << "never finished: no minimum, rather than 0";
    EXPECT_TRUE(stage["device_ns"].is_null());
  }
}

TEST(JsonReport, HoldsWhateverWasGenerated) {
  const Json r = report_of(testing::make_run(testing::generation_trace()));
  EXPECT_EQ(r["steps"]["warmup_count"], 3);
  EXPECT_EQ(r["steps"]["steady_p50_ns"], 100'000'000);
  EXPECT_EQ(r["steps"]["trend"]["flat"], true);
  EXPECT_EQ(r["steps"]["outliers"], Json::array());
  EXPECT_EQ(r["diffusion"]["frames_per_second"], 8.0);
  EXPECT_EQ(r["training"]["epochs"][0]["batches"]["count"], 4);
  EXPECT_EQ(r["requests"]["success_ratio"], 0.5);
  EXPECT_EQ(r["multimodal"]["image_ms_mean"], 80.0);
  EXPECT_EQ(r["bottlenecks"][0]["name"], "attn\x1b[1m");
  EXPECT_EQ(r["streaming"]["drop_ratio"], 0.2);
  EXPECT_TRUE(r["streaming"]["latency_ms_mean"].is_null());
  EXPECT_EQ(r["absent"]["streaming.latency_ms_mean"], "no event says it");
  EXPECT_EQ(r["layers"][1]["parameters"], nullptr);
  EXPECT_EQ(r["cache"]["hit_ratio"], 0.5);
  EXPECT_EQ(r["memory_events"]["allocated_bytes"], 4096.0);
  EXPECT_EQ(r["models"][0]["type"], "mmdit");
  const Json none = report_of(testing::make_run(Trace{}));
  for (const char* key :
       {"diffusion", "training", "requests", "multimodal", "streaming", "cache", "memory_events"}) {
    EXPECT_TRUE(none[key].is_null()) << key;
    EXPECT_TRUE(none["absent"].contains(key)) << key;
  }
}

TEST(JsonReport, APeakThatOnlyTheKernelSawCounts) {
  genscope::Run run = testing::make_run(testing::sampled_trace());
  const std::int64_t sampled = report_of(run)["process"]["peak_rss_bytes"];
  EXPECT_EQ(sampled, 1'200'000'000);
  run.max_rss_bytes = sampled - 1;
  EXPECT_EQ(report_of(run)["process"]["peak_rss_bytes"], sampled);
  run.max_rss_bytes = sampled + 1;
  EXPECT_EQ(report_of(run)["process"]["peak_rss_bytes"], sampled + 1);
}

TEST(JsonReport, HoldsWhatStagesUsedAndWhatTheGpuDid) {
  const Json r = report_of(testing::make_run(testing::sampled_trace()));
  check(r, schema(), "sampled run");
  const Json& resources = r["resources"];
  EXPECT_EQ(resources["stages"][0]["cpu_cores"]["mean"], 1.5);
  EXPECT_EQ(resources["stages"][0]["gpu_power_watts"]["samples"], 72);
  EXPECT_TRUE(resources["stages"][1]["rss_bytes"]["mean"].is_null());
  EXPECT_EQ(resources["stages"][1]["rss_bytes"]["samples"], 1);
  EXPECT_TRUE(resources["stages"][1]["reason"].is_string());
  EXPECT_EQ(resources["growth"][0]["leak"], true);
  EXPECT_EQ(resources["energy"][0]["joules_each"], 3000.0);
  EXPECT_EQ(resources["throttling"][1]["share"], 0.5);
  EXPECT_EQ(resources["utilisation"]["per_step"].size(), 18u);
  EXPECT_EQ(resources["devices"][0]["idle_host_wait_ns"], 300'000);
  EXPECT_EQ(resources["kernels"][0]["count"], 2);
  EXPECT_TRUE(resources["device_overlap_ratio"].is_null());
  EXPECT_TRUE(r["absent"].contains("resources.device_overlap_ratio"));
}

TEST(JsonReport, HoldsSampledStacks) {
  testing::TraceBuilder t;
  t.event("genscope.stacks", 0, {{"rate", 50}, {"samples", 3}, {"stopped", "why"}});
  t.event("genscope.frame", 0, {{"id", 1}, {"name", "read"}, {"file", "/a/b.py"}, {"line", 3}});
  t.event("genscope.node", 0, {{"id", 1}, {"parent", 0.0}, {"frame", 1}});
  t.event("genscope.stack", 60'000'000,
          {{"tid", 1000}, {"node", 1}, {"us", 60'000}, {"cpu_us", 1'000}, {"samples", 3}});
  const genscope::Run run = testing::make_run(t.trace());
  const Json r = report_of(run);
  check(r, schema(), "sampled stacks");
  EXPECT_EQ(r["stacks"]["functions"][0]["name"], "read");
  EXPECT_EQ(r["stacks"]["functions"][0]["self_ns"], 60'000'000);
  EXPECT_EQ(r["stacks"]["nodes"][1]["parent"], 0);
  EXPECT_EQ(r["stacks"]["stopped"][0], "why");
  const Analysis analysis = analyze(run);
  EXPECT_EQ(testing::written([&](const Sink& sink) { stacks_collapsed(analysis, sink); }),
            "main thread (1000);read (/a/b.py:3) 60000\n");
  const Json profile = Json::parse(
      testing::written([&](const Sink& sink) { stacks_speedscope(run, analysis, sink); }));
  EXPECT_EQ(profile["profiles"][0]["weights"][0], 60'000'000);
  EXPECT_EQ(profile["shared"]["frames"][1]["file"], "/a/b.py");
  const std::string screen =
      testing::written([&](const Sink& sink) { report_screen(run, analysis, {}, {}, sink); });
  EXPECT_NE(screen.find("code    100% read (b.py:3), waiting"), std::string::npos) << screen;
  EXPECT_FALSE(report_of(testing::make_run(Trace{})).contains("stacks"));
}

TEST(JsonReport, BytesThatAreNotUtf8AreReplaced) {
  Trace trace = testing::sample_trace();
  trace.names[0].text = "bad\xFFname";
  trace.tracks[0].name = "\xC3";
  trace.integrity.notes = {"\xF0\x9F"};
  const Json r = report_of(testing::make_run(trace));
  EXPECT_EQ(r["stages"][0]["name"], "bad\xEF\xBF\xBDname");
}

TEST(JsonReport, ACounterThatIsNotFiniteIsNull) {
  testing::TraceBuilder t;
  t.counter("loss", 1, std::nan(""));
  const Json r = report_of(testing::make_run(t.trace()));
  EXPECT_TRUE(r["counters"][0]["last"].is_null());
  EXPECT_TRUE(r["counters"][0]["min"].is_null());
  EXPECT_EQ(r["counters"][0]["not_finite"], 1);
}

TEST(CompareJson, HasTheDocumentedShape) {
  const auto document = [](const Comparison& comparison) {
    return Json::parse(testing::written([&](const Sink& sink) { compare_json(comparison, sink); }));
  };
  const Json expected = schema("compare");
  Comparison comparison = testing::sample_comparison();
  check(document(comparison), expected, "comparison");
  check(document(Comparison{}), expected, "empty comparison");
  comparison.incomparable = {"Other work."};
  check(document(comparison), expected, "refused comparison");

  std::ifstream file(GENSCOPE_SOURCE_DIR "/docs/compare.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const auto& [key, unused] : expected["properties"].items()) {
    EXPECT_NE(page.find("| `" + key + "` |"), std::string::npos) << key;
  }
}

TEST(ReportJson, OthersSayForHowManyNamesTheyStand) {
  testing::TraceBuilder t(1);
  constexpr int kNames = static_cast<int>(kMaxNamedRows) + 7;
  for (int i = 0; i < kNames; ++i) {
    t.span("n" + std::to_string(i), SpanKind::request, i * 10, 10);
    t.counter("c" + std::to_string(i), i, 1);
  }
  const genscope::Run run = testing::make_run(t.trace());
  const Json r = report_of(run);
  check(r, schema(), "report");
  EXPECT_EQ(r["stages"].size(), kMaxNamedRows + 1);
  EXPECT_EQ(r["stages"].back()["name"], "others");
  EXPECT_EQ(r["stages"].back()["folded"], 7);
  EXPECT_EQ(r["stages"].back()["total_ns"], 70);
  EXPECT_FALSE(r["stages"][0].contains("folded"));
  EXPECT_EQ(r["counters"].back()["folded"], 7);
  EXPECT_EQ(r["counters"].back()["first"], nullptr);
}

}  // namespace
}  // namespace genscope

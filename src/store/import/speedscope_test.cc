#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "genscope/store.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Imported> import_profiles(const std::string& profiles, const std::string& more = "") {
  const testing::TempDir dir;
  const std::string path = dir / "profile.speedscope.json";
  std::ofstream(path, std::ios::binary)
      << R"({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [
          {"name": "main", "file": "gen.py", "line": 3}, {"name": "denoise"}, {"name": "decode"}]},
          "profiles": [)"
      << profiles << "]" << more;
  return import_chrome_trace(path, {});
}

std::vector<std::string> calls(const Trace& t) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < t.spans.size(); ++i) {
    const std::uint32_t parent = t.spans.parent[i];
    out.push_back(t.tracks[t.spans.track[i]].name + ": " +
                  (parent == kNone ? "" : t.span_name(parent) + " > ") + t.span_name(i) + " " +
                  std::to_string(t.spans.begin_ns[i] - t.begin_ns) + "+" +
                  std::to_string(t.spans.duration_ns[i]));
  }
  return out;
}

// As py-spy writes it.
TEST(Speedscope, NeighbouringSamplesAreOneCall) {
  const auto imported = import_profiles(
      R"({"type": "sampled", "name": "MainThread", "unit": "milliseconds", "startValue": 0,
          "endValue": 40, "samples": [[0, 1], [0, 1], [0, 2], [0]], "weights": [10, 10, 10, 10]})",
      "}");
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_THAT(calls(imported->trace),
              ElementsAre("MainThread: main 0+40000000", "MainThread: main > denoise 0+20000000",
                          "MainThread: main > decode 20000000+10000000"));
  EXPECT_EQ(imported->summary.malformed, 0u);
}

// As pyinstrument writes it; the end of the last call is missing.
TEST(Speedscope, EventsOpenAndCloseCalls) {
  const auto imported = import_profiles(
      R"({"type": "evented", "name": "a", "unit": "seconds", "startValue": 1, "endValue": 4,
          "events": [{"type": "O", "frame": 0, "at": 1}, {"type": "O", "frame": 1, "at": 2},
                     {"type": "C", "frame": 1, "at": 3}, {"type": "C", "frame": 9, "at": 3}]},
         {"type": "sampled", "name": "b", "unit": "nanoseconds", "startValue": 1000000000,
          "samples": [[2]], "weights": [7]})",
      "}");
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_THAT(calls(imported->trace),
              ElementsAre("a: main 0+3000000000", "a: main > denoise 1000000000+1000000000",
                          "b: decode 0+7"));
  EXPECT_EQ(imported->summary.malformed, 1u);
}

TEST(Speedscope, WhatCannotBeReadIsSaid) {
  const auto bytes = import_profiles(
      R"({"type": "sampled", "name": "heap", "unit": "bytes", "samples": [[0]], "weights": [1]})",
      "}");
  ASSERT_FALSE(bytes.ok());
  EXPECT_THAT(bytes.error().message, HasSubstr("\"bytes\": only time can be imported"));
  const auto cut = import_profiles("{", "");
  ASSERT_FALSE(cut.ok());
  EXPECT_THAT(cut.error().message, HasSubstr("no whole JSON document"));
  const auto odd = import_profiles(R"({"type": 3, "unit": "seconds"})", "}");
  ASSERT_FALSE(odd.ok());
}

}  // namespace
}  // namespace genscope

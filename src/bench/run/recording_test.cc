#include "bench/run/recording.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bench/run/gpu_meter.h"
#include "bench/run/output_files.h"
#include "testing/temp_dir.h"

namespace genscope::bench {
namespace {

// load 10 ms; denoise 100 ms with 4 steps of 20 ms, and text_encode 15 ms within it.
Run recorded_run() {
  Trace trace;
  trace.names = {{"load_model", SpanKind::load},
                 {"denoising", SpanKind::stage},
                 {"step", SpanKind::step},
                 {"text_encoding", SpanKind::stage},
                 {"inner", SpanKind::step}};
  trace.tracks.resize(1);
  const auto add = [&](std::int64_t begin_ms, std::int64_t ms, std::uint32_t name,
                       std::uint32_t parent) {
    trace.spans.begin_ns.push_back(begin_ms * 1'000'000);
    trace.spans.duration_ns.push_back(ms * 1'000'000);
    trace.spans.name.push_back(name);
    trace.spans.track.push_back(0);
    trace.spans.parent.push_back(parent);
    trace.spans.flags.push_back(0);
    return static_cast<std::uint32_t>(trace.spans.size() - 1);
  };
  add(0, 10, 0, kNone);
  const std::uint32_t denoise = add(10, 100, 1, kNone);
  add(10, 15, 3, denoise);
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t step = add(25 + 20 * i, 20 + i, 2, denoise);
    add(25 + 20 * i, 1, 4, step);
  }
  Run run;
  run.traces.push_back(std::move(trace));
  return run;
}

TEST(Recording, StagesHaveTheirOwnTimeAndSteps) {
  const RecordedStages found = stages_of(recorded_run());
  ASSERT_EQ(found.stages.size(), 3u);
  EXPECT_DOUBLE_EQ(found.stages.at("load").seconds, 0.010);
  EXPECT_DOUBLE_EQ(found.stages.at("text_encode").seconds, 0.015);
  EXPECT_NEAR(found.stages.at("denoise").seconds, 0.085, 1e-12);
  EXPECT_EQ(found.stages.at("denoise").steps, 4u);  // a step within a step is none of its own
  ASSERT_EQ(found.steps_s.size(), 4u);
  EXPECT_NEAR(found.steps_s[3], 0.023, 1e-12);
}

TEST(Recording, FoldersGoUnlessKept) {
  std::string place;
  {
    RunFolder folder("");
    place = folder.next();
    EXPECT_TRUE(std::filesystem::is_directory(place));
    EXPECT_FALSE(RunFolder::has_trace(place));
    EXPECT_TRUE(folder.take(place).stages.empty());
    EXPECT_FALSE(std::filesystem::exists(place));
    place = folder.next();
  }
  EXPECT_FALSE(std::filesystem::exists(place));
  const genscope::testing::TempDir dir;
  for (int i = 0; i < 2; ++i) {
    RunFolder folder(dir / "kept");
    folder.take(folder.next());
  }
  EXPECT_TRUE(std::filesystem::exists(dir / "kept/run-00002"));
}

TEST(OutputFiles, CopiesAndLinksWhatIsEqual) {
  const genscope::testing::TempDir dir;
  OutputFiles files(dir / "kept");
  std::ofstream(dir / "x.png") << "one";
  const auto first = files.take(dir / "x.png", 0);
  const auto second = files.take(dir / "x.png", 0);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(std::filesystem::equivalent(*first, *second));
  std::ofstream(dir / "x.png") << "two";
  const auto third = files.take(dir / "x.png", 0);
  ASSERT_TRUE(third.ok());
  EXPECT_FALSE(std::filesystem::equivalent(*first, *third));
  EXPECT_FALSE(files.take(dir / "missing", 0).ok());
  EXPECT_FALSE(files.take(dir / "x.png", std::int64_t{4'000'000'000} * 1'000'000'000).ok());
}

TEST(GpuMeter, SaysWhyThereIsNone) {
  // Where the machine has a GPU, it is read.
  std::string why;
  const auto meter = GpuMeter::open(why);
  EXPECT_EQ(meter == nullptr, !why.empty());
}

}  // namespace
}  // namespace genscope::bench

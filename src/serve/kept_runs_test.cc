#include "serve/kept_runs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>
#include <vector>

#include <genscope/store.h>

#include "testing/temp_dir.h"

namespace genscope::serve {
namespace {

// A run of one trace with one span.
RunEntry make_finished(const std::string& folder, const std::string& id) {
  RunRequest request;
  request.path = folder + "/" + id;
  const Result<std::string> path = create_run(request);
  EXPECT_TRUE(path.ok());
  Trace trace;
  trace.process.trace_id = std::string(32, 'a');
  trace.process.started_ns = 1000;
  trace.names.push_back({"denoise", SpanKind::stage});
  trace.tracks.push_back({"main", 1, 0, 0});
  trace.spans = {{1000}, {500}, {0}, {0}, {kNone}, {0}};
  trace.begin_ns = 1000;
  trace.end_ns = 1500;
  EXPECT_TRUE(write_trace(trace, *path + "/trace-a.gst").ok());
  EXPECT_TRUE(finish_run(*path, 0).ok());
  return (*find_run(folder, id)).value();
}

TEST(KeptRuns, AreReadOnceUntilAFileChanges) {
  const genscope::testing::TempDir dir;
  const RunEntry run = make_finished(dir.path(), "one");
  KeptRuns runs;
  const auto first = runs.get(run);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ((*first)->analysis.stages.at(0).name, "denoise");
  EXPECT_EQ(*runs.get(run), *first);
  EXPECT_EQ(runs.reads(), 1u);
  ASSERT_TRUE(finish_run(run.path, 1).ok());
  const auto changed = runs.get(run);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ((*changed)->run.exit_code, 1);
  EXPECT_EQ(runs.reads(), 2u);
}

TEST(KeptRuns, OfARunInProgressNothingIsKept) {
  const genscope::testing::TempDir dir;
  RunEntry run = make_finished(dir.path(), "one");
  run.in_progress = true;
  KeptRuns runs;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(runs.get(run).ok());
  EXPECT_EQ(runs.reads(), 2u);
  EXPECT_EQ(runs.bytes(), 0u);
}

TEST(KeptRuns, AreBoundedAndTheOldestGoes) {
  const genscope::testing::TempDir dir;
  const RunEntry one = make_finished(dir.path(), "one"), two = make_finished(dir.path(), "two");
  KeptRuns none(1);
  ASSERT_TRUE(none.get(one).ok());
  EXPECT_EQ(none.bytes(), 0u);
  KeptRuns room_for_one((1u << 20) + (1u << 19));
  for (const RunEntry* run : {&one, &one, &two, &one}) ASSERT_TRUE(room_for_one.get(*run).ok());
  EXPECT_EQ(room_for_one.reads(), 3u);
  EXPECT_LE(room_for_one.bytes(), (1u << 20) + (1u << 19));
}

TEST(KeptRuns, WhoeverAsksAtOnceSharesTheReading) {
  const genscope::testing::TempDir dir;
  const RunEntry run = make_finished(dir.path(), "one");
  KeptRuns runs;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_TRUE(runs.get(run).ok()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs.reads(), 1u);
}

TEST(KeptRuns, AnErrorKeepsNobodyWaiting) {
  const genscope::testing::TempDir dir;
  RunEntry run = make_finished(dir.path(), "one");
  std::ofstream(run.path + "/trace-a.gst", std::ios::trunc) << "rubbish";
  KeptRuns runs;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(runs.get(run).ok());
  EXPECT_EQ(runs.reads(), 2u);
}

}  // namespace
}  // namespace genscope::serve

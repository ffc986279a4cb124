#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <genscope/store.h>

#include "base/clock.h"
#include "serve/run_figures.h"
#include "serve/run_list_text.h"
#include "serve/run_names.h"
#include "serve/run_removal.h"
#include "testing/temp_dir.h"

namespace genscope::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kHourNs = 3'600'000'000'000;

void make_begun(const std::string& path) {
  RunRequest request;
  request.path = path;
  request.command = {"c"};
  EXPECT_TRUE(create_run(request).ok());
}

PruneRule keep_rule(std::uint64_t keep) {
  PruneRule rule;
  rule.keep = keep;
  return rule;
}
PruneRule older_rule(std::int64_t older_ns) {
  PruneRule rule;
  rule.older_ns = older_ns;
  return rule;
}
PruneRule over_rule(std::uint64_t bytes) {
  PruneRule rule;
  rule.over_bytes = bytes;
  return rule;
}

// A run that began at `hour` and is over, with the one closed trace.
std::string make_listed(const genscope::testing::TempDir& dir, const std::string& id,
                        const std::string& name, int hour, int exit_code = 0) {
  const std::string path = dir / id;
  make_begun(path);
  std::ofstream(path + "/run.json") << "{\"id\":\"" << id << "\",\"name\":\"" << name
                                    << "\",\"started_unix_ns\":" << hour * kHourNs << "}\n";
  Trace trace;
  trace.process.trace_id = std::string(32, 'a');
  trace.process.pid = 7;
  trace.tracks.push_back({"main", 7, 0, 0});
  trace.names.push_back({"denoise", SpanKind::stage});
  trace.spans = {{0}, {900'000'000}, {0}, {0}, {kNone}, {0}};
  trace.end_ns = 1'000'000'000;
  EXPECT_TRUE(write_trace(trace, path + "/trace-7-0.gst").ok());
  EXPECT_TRUE(finish_run(path, exit_code).ok());
  return path;
}

std::vector<std::string> ids_of(const std::vector<RunEntry>& runs) {
  std::vector<std::string> ids;
  for (const RunEntry& run : runs) ids.push_back(run.id);
  return ids;
}

TEST(RunNames, NewestCountedNamedBegunOrAPath) {
  const genscope::testing::TempDir dir;
  const std::string a = make_listed(dir, "20260101-a-1", "first", 1);
  const std::string b = make_listed(dir, "20260102-b-2", "demo", 2);
  const std::string c = make_listed(dir, "20260103-c-3", "demo", 3);
  const auto path = [&](const char* word) {
    const Result<std::string> found = resolve_run(word, dir.path());
    return found ? *found : "error: " + found.error().message;
  };
  EXPECT_EQ(path(""), c);
  EXPECT_EQ(path("last"), c);
  EXPECT_EQ(path("last~2"), a);
  EXPECT_EQ(path("demo"), c) << "of two runs of that name the newer one";
  EXPECT_EQ(path("first"), a);
  EXPECT_EQ(path("20260102-b-2"), b);
  EXPECT_EQ(path("20260102"), b);
  EXPECT_EQ(path("elsewhere/x"), "elsewhere/x") << "whoever reads it says what is wrong";
  EXPECT_EQ(path(a.c_str()), a);
  EXPECT_THAT(path("last~3"), HasSubstr("there are only 3 runs"));
  EXPECT_THAT(path("last~x"), HasSubstr("neither a path nor the name of a run"));
  EXPECT_THAT(path("202601"), HasSubstr("begins the names of 3 runs"));
  EXPECT_THAT(path("dmeo"), HasSubstr("did you mean 'demo'?"));
  EXPECT_THAT(resolve_run("", dir / "none").error().message, HasSubstr("no run"));
}

TEST(RunList, StatesAreThoseOfTheReport) {
  const genscope::testing::TempDir dir;
  make_listed(dir, "ok", "x", 1);
  make_listed(dir, "bad", "x", 2, 3);
  make_listed(dir, "killed", "x", 3, 139);
  const std::string session = make_listed(dir, "session", "x", 4);
  std::ofstream(session + "/run.json") << R"({"id":"session","started_unix_ns":14400000000000})";
  const auto runs = list_runs(dir.path());
  ASSERT_TRUE(runs.ok());
  std::vector<std::string> states;
  for (const RunEntry& run : *runs) {
    states.push_back(ending_text(run.ending));
    EXPECT_EQ(states.back(), ending_text(run_ending(*read_run(run.path)))) << run.id;
  }
  EXPECT_THAT(states, ElementsAre("ok", "killed (SIGSEGV)", "failed (exit 3)", "ok"));
}

TEST(RunList, FiguresAreReadOnceAndAgainWhenTheRunChanged) {
  const genscope::testing::TempDir dir;
  const std::string path = make_listed(dir, "a", "x", 1);
  auto runs = list_runs(dir.path());
  auto figures = figures_of(*runs, dir.path(), true);
  EXPECT_THAT(figures["a"].stages, ElementsAre("denoise 90%"));
  EXPECT_EQ(figures["a"].wall_ns, 1'000'000'000);
  EXPECT_THAT(figures["a"].headline, HasSubstr("Denoise took 90% of 1.00 s"));
  const std::string text = runs_text(*runs, figures, 160, false);
  EXPECT_THAT(text, HasSubstr("denoise 90%"));
  EXPECT_THAT(text, HasSubstr("1.00 s"));
  EXPECT_THAT(runs_json(*runs, figures), HasSubstr(R"("stages":["denoise 90%"],"findings":)"));
  // Damaged, of the same size: what is noted stands. Of another size: it is read again.
  const auto size = std::filesystem::file_size(path + "/trace-7-0.gst");
  std::ofstream(path + "/trace-7-0.gst") << std::string(size, 'x');
  EXPECT_EQ(figures_of(*list_runs(dir.path()), dir.path(), true).size(), 1u);
  std::ofstream(path + "/trace-7-0.gst") << "x";
  EXPECT_THAT(figures_of(*list_runs(dir.path()), dir.path(), true), IsEmpty());
}

TEST(RunList, AServerReadsFiguresWhileItAnswers) {
  const genscope::testing::TempDir dir;
  for (int hour = 1; hour <= 3; ++hour) make_listed(dir, "r" + std::to_string(hour), "x", hour);
  std::ofstream(make_listed(dir, "bad", "x", 4) + "/trace-7-0.gst") << "x";
  const auto runs = list_runs(dir.path());
  ListFigures figures(dir.path());
  std::vector<std::thread> askers;  // as several viewers
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&] {
      while (figures.of(*runs).size() < 3) std::this_thread::yield();
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_THAT(figures.of(*runs)["r2"].stages, ElementsAre("denoise 90%"));
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/.genscope-list")) << "it writes nothing";
  figures_of(*runs, dir.path(), true);  // as `genscope list` notes them
  ListFigures noted(dir.path());
  EXPECT_EQ(noted.of(*runs).size(), 3u) << "known at once";
}

TEST(RunList, TagsAreKeptInTheManifest) {
  const genscope::testing::TempDir dir;
  make_listed(dir, "a", "x", 1);
  const RunEntry run = list_runs(dir.path())->front();
  ASSERT_TRUE(tag_run(run, {"baseline", "\"q\""}).ok());
  ASSERT_TRUE(finish_run(run.path, 0).ok());
  EXPECT_THAT(list_runs(dir.path())->front().tags, ElementsAre("baseline", "\"q\""));
  EXPECT_THAT(runs_json(*list_runs(dir.path())), HasSubstr(R"("tags":["baseline","\"q\""])"));
  ASSERT_TRUE(tag_run(run, {}).ok());
  EXPECT_THAT(list_runs(dir.path())->front().tags, IsEmpty());
}

TEST(RunRemoval, GivesUpTheOldestAndKeepsTaggedAndRunningOnes) {
  const genscope::testing::TempDir dir;
  for (int hour = 1; hour <= 4; ++hour) {
    make_listed(dir, "r" + std::to_string(hour), "x", hour);
  }
  std::vector<RunEntry> runs = *list_runs(dir.path());
  EXPECT_THAT(ids_of(to_prune(runs, keep_rule(2), 0)), ElementsAre("r1", "r2"));
  EXPECT_THAT(ids_of(to_prune(runs, older_rule(2 * kHourNs), 5 * kHourNs)),
              ElementsAre("r1", "r2"));
  const std::uint64_t one = folder_bytes(runs[0].path);
  EXPECT_THAT(ids_of(to_prune(runs, over_rule(2 * one + one / 2), 0)), ElementsAre("r1", "r2"));
  EXPECT_THAT(ids_of(to_prune(runs, over_rule(5 * one), 0)), IsEmpty());
  runs[3].tags = {"keep"};
  runs[2].in_progress = true;
  EXPECT_THAT(ids_of(to_prune(runs, keep_rule(0), 0)), ElementsAre("r3", "r4"));
}

TEST(RunRemoval, NeverARunThatHasJustBegunNorTheCurrentFolder) {
  const genscope::testing::TempDir dir;
  const std::string old = make_listed(dir, "old", "x", 1);
  make_begun(dir / "new");
  const auto fresh = run_at(dir / "new");
  EXPECT_THAT(remove_run(**fresh).error().message, HasSubstr("only just begun"));
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(old);
  const RunEntry run = **run_at(old);
  EXPECT_THAT(remove_run(run).error().message, HasSubstr("current folder"));
  std::filesystem::current_path(here);
  EXPECT_TRUE(remove_run(run).ok());
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(dir / "new"));
}

TEST(RunRemoval, ReadsAgesAndSizes) {
  EXPECT_EQ(parse_age("12h"), 12 * kHourNs);
  EXPECT_EQ(parse_age("1.5d"), 36 * kHourNs);
  EXPECT_EQ(parse_size("5GB"), 5'000'000'000u);
  EXPECT_EQ(parse_size("2KiB"), 2048u);
  for (const char* text : {"", "d", "5", "-1d", "5 d", "nand", "1e300d"}) {
    EXPECT_FALSE(parse_age(text)) << text;
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

}  // namespace
}  // namespace genscope::serve

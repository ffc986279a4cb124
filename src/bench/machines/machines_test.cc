// Plans, gathering and what is told to other engines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "bench/machines/gather.h"
#include "bench/machines/launch.h"
#include "bench/machines/plan.h"
#include "testing/temp_dir.h"

namespace genscope::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kSuiteText = R"(version: 1
suite: four cells
defaults:
  runner: {kind: command, command: "true {size} {steps}"}
matrix:
  axes: {size: [512x512, 1024x1024], steps: [10, 20, 30]}
  exclude: [{when: "size.pixels > 1000000 && steps > 20", why: "too long"}]
)";

Plan plan_of_five() {
  const Result<Suite> suite = parse_suite(kSuiteText, "/tmp/suite.yaml");
  EXPECT_TRUE(suite.ok()) << suite.error().message;
  Result<Plan> plan = make_plan(*suite, kSuiteText);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return std::move(*plan);
}

// What an attempt at a cell leaves behind.
void leave_result(const Plan& plan, const genscope::testing::TempDir& dir, std::size_t cell,
                  const std::string& attempt, const std::string& klass = "one class",
                  const std::string& status = "ok",
                  const std::string& ended = "2026-01-01T00:00:02Z") {
  BenchResult result;
  result.id = attempt;
  result.suite = plan.suite;
  result.suite_hash = plan.suite_hash;
  result.started = "2026-01-01T00:00:01Z";
  result.ended = ended;
  result.environment.klass = klass;
  Cell& measured = result.cells.emplace_back();
  measured.id = plan.cells[cell].id;
  measured.params = plan.cells[cell].params;
  measured.status = status;
  for (std::uint32_t i = 0; i < 6; ++i) {
    Unit& unit = measured.units.emplace_back();
    unit.process = unit.order_index = i;
    unit.samples.emplace_back().metrics["latency_s"] = 1 + 0.01 * i;
  }
  summarize(measured);
  const std::string folder = dir / cell_folder(plan.cells[cell].id) + "/" + attempt;
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_result(result, folder + "/result.json").ok());
}

TEST(Plan, IsReadAsItWasWritten) {
  const genscope::testing::TempDir dir;
  const Plan plan = plan_of_five();
  ASSERT_TRUE(base::write_file(dir / "plan.json", to_json(plan)).ok());
  const Result<Plan> read = read_plan(dir / "plan.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->cells.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(read->cells[i].id, plan.cells[i].id);
    EXPECT_EQ(read->cells[i].params, plan.cells[i].params);
  }
  ASSERT_THAT(read->skipped, SizeIs(1));
  EXPECT_THAT(read->skipped[0].skipped, HasSubstr("too long"));
  const Result<Suite> suite = suite_of(*read);
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  EXPECT_EQ(suite->name, "four cells");
}

TEST(Plan, AnotherFileIsRefusedByName) {
  const genscope::testing::TempDir dir;
  ASSERT_TRUE(base::write_file(dir / "plan.json", R"({"schema": "genscope.bench/1"})").ok());
  const Result<Plan> read = read_plan(dir / "plan.json");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("plan.json: this is no plan"));
}

TEST(Plan, FoldersOfCellsDiffer) {
  EXPECT_NE(cell_folder("a=1/b"), cell_folder("a=1 b"));
  EXPECT_EQ(cell_folder("a=1/b").find('/'), std::string::npos);
}

TEST(Plan, TheTaskIsTakenFromTheEngine) {
  for (const char* name : {"GENSCOPE_CELL_INDEX", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"}) {
    ::unsetenv(name);
  }
  EXPECT_EQ(*index_from_environment(), std::nullopt);
  ::setenv("JOB_COMPLETION_INDEX", "3", 1);
  EXPECT_EQ(*index_from_environment(), 3u);
  ::setenv("SLURM_ARRAY_TASK_ID", "4", 1);
  EXPECT_EQ(*index_from_environment(), 4u);
  ::setenv("SLURM_ARRAY_TASK_ID", "4x", 1);
  EXPECT_FALSE(index_from_environment().ok());
  ::unsetenv("SLURM_ARRAY_TASK_ID");
  ::unsetenv("JOB_COMPLETION_INDEX");
}

TEST(Gather, EveryCellOnceInTheOrderOfThePlan) {
  const genscope::testing::TempDir dir;
  const Plan plan = plan_of_five();
  for (const std::size_t cell : {4u, 0u, 2u, 1u, 3u}) leave_result(plan, dir, cell, "first");
  leave_result(plan, dir, 2, "again", "one class", "ok", "2026-01-01T00:00:09Z");
  const Result<Gathered> all = gather(plan, dir.path(), false);
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_THAT(all->results, SizeIs(1));
  const std::vector<Cell>& cells = all->results[0].cells;
  ASSERT_EQ(cells.size(), 6u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(cells[i].id, plan.cells[i].id);
  EXPECT_EQ(cells[5].status, "skipped");
  EXPECT_EQ(all->exit.code, kPass);
  EXPECT_THAT(all->notes, ElementsAre(HasSubstr("measured 2 times")));
  EXPECT_THAT(all->missing, SizeIs(0));
}

TEST(Gather, NamesWhatIsMissing) {
  const genscope::testing::TempDir dir;
  const Plan plan = plan_of_five();
  leave_result(plan, dir, 0, "a");
  leave_result(plan, dir, 1, "a");
  const Result<Gathered> some = gather(plan, dir.path(), false);
  ASSERT_TRUE(some.ok());
  EXPECT_THAT(some->missing, SizeIs(3));
  EXPECT_EQ(some->exit.code, kProductFailed);
  EXPECT_THAT(some->exit.reasons.back(), HasSubstr("3 of 5 cells have no result"));
  const genscope::testing::TempDir empty;
  const Result<Gathered> none = gather(plan, empty.path(), false);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->exit.code, kNothingMeasured);
}

TEST(Gather, UnlikeMachinesAreNeverInOneResult) {
  const genscope::testing::TempDir dir;
  const Plan plan = plan_of_five();
  for (std::size_t cell = 0; cell < 5; ++cell) {
    leave_result(plan, dir, cell, "a", cell % 2 == 0 ? "A100" : "L4");
  }
  const Result<Gathered> all = gather(plan, dir.path(), false);
  ASSERT_TRUE(all.ok());
  ASSERT_THAT(all->results, SizeIs(2));
  EXPECT_EQ(all->results[0].environment.klass, "A100");
  EXPECT_EQ(all->results[1].environment.klass, "L4");
}

TEST(Gather, AFailedAttemptGivesWayToAGoodOne) {
  const genscope::testing::TempDir dir;
  const Plan plan = plan_of_five();
  for (std::size_t cell = 0; cell < 5; ++cell) leave_result(plan, dir, cell, "b");
  leave_result(plan, dir, 3, "a", "one class", "failed", "2026-01-01T00:00:01Z");
  EXPECT_TRUE(cell_is_done(plan, plan.cells[3], dir.path()));
  const Result<Gathered> all = gather(plan, dir.path(), false);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->results[0].cells[3].status, "ok");
}

TEST(Gather, DamagedAndForeignFilesAreNamed) {
  const genscope::testing::TempDir dir;
  Plan plan = plan_of_five();
  leave_result(plan, dir, 0, "a");
  const std::string torn = dir / cell_folder(plan.cells[1].id) + "/a";
  std::filesystem::create_directories(torn);
  ASSERT_TRUE(base::write_file(torn + "/result.json", "{\"schema\": \"gen").ok());
  const std::string hash = plan.suite_hash;
  plan.suite_hash = "another";
  leave_result(plan, dir, 2, "a");
  plan.suite_hash = hash;
  const Result<Gathered> all = gather(plan, dir.path(), false);
  ASSERT_TRUE(all.ok());
  EXPECT_THAT(all->missing, SizeIs(4));
  EXPECT_THAT(all->notes, ElementsAre(HasSubstr("result.json"), HasSubstr("of another suite")));
}

TEST(Launch, SlurmRunsEachCellAsATaskOfAnArray) {
  const Plan plan = plan_of_five();
  const std::string script = slurm_script(
      plan, {.genscope = "/opt/it's/genscope", .plan_path = "/shared/plan.json", .at_once = 2});
  EXPECT_THAT(script, HasSubstr("#SBATCH --array=0-4%2\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --exclusive\n"));
  EXPECT_THAT(script, HasSubstr("exec '/opt/it'\\''s/genscope' bench cell '/shared/plan.json'\n"));
}

TEST(Launch, ManyCellsShareTasks) {
  Plan plan = plan_of_five();
  while (plan.cells.size() < 2500) plan.cells.push_back(plan.cells[0]);
  const std::string script = slurm_script(plan, {.genscope = "genscope", .plan_path = "/p.json"});
  EXPECT_THAT(script, HasSubstr("--array=0-999\n"));
  EXPECT_THAT(script, HasSubstr("--every 1000\n"));
}

TEST(Launch, KubernetesGetsAnIndexedJob) {
  const std::string job = kubernetes_job(plan_of_five(), {.genscope = "genscope",
                                                          .plan_path = "/shared/plan.json",
                                                          .image = "team/bench:1",
                                                          .volume_claim = "runs"});
  EXPECT_THAT(job, HasSubstr("completionMode: Indexed\n  completions: 5\n"));
  EXPECT_THAT(job, HasSubstr("image: \"team/bench:1\""));
  EXPECT_THAT(job, HasSubstr("claimName: \"runs\""));
}

}  // namespace
}  // namespace genscope::bench

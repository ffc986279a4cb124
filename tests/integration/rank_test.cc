// Which rank a process is, by what its launcher left in the environment.
#include <cstdlib>

#include "support.h"

namespace genscope::testing {
namespace {

constexpr const char* kLaunchers[] = {
    "RANK",     "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",    "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK", "PMI_SIZE",   "SLURM_PROCID",         "SLURM_NTASKS", "SLURM_STEP_ID"};

std::optional<int> rank_with(const std::map<std::string, std::string>& environment) {
  for (const char* name : kLaunchers) ::unsetenv(name);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  const TempDir dir;
  { const Session session("it", options_in(dir)); }
  for (const char* name : kLaunchers) ::unsetenv(name);
  return only_trace(dir).process.rank;
}

TEST(Rank, EachLauncherNamesIt) {
  EXPECT_EQ(rank_with({{"RANK", "3"}, {"WORLD_SIZE", "8"}}), 3);
  EXPECT_EQ(rank_with({{"OMPI_COMM_WORLD_RANK", "2"}}), 2);
  EXPECT_EQ(rank_with({{"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}}), 1);
  EXPECT_EQ(rank_with({}), std::nullopt);
}

// sbatch sets SLURM_PROCID=0 for the script itself, so that every task of an array would be rank 0.
TEST(Rank, TheScriptOfABatchJobHasNone) {
  EXPECT_EQ(rank_with({{"SLURM_PROCID", "0"}, {"SLURM_ARRAY_TASK_ID", "4"}}), std::nullopt);
}

}  // namespace
}  // namespace genscope::testing

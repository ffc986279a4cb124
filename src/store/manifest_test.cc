#include "store/manifest.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "genscope/store.h"
#include "genscope/version.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

base::JsonObject manifest_of(const std::string& run) {
  return base::JsonObject(*base::read_file(run + "/run.json"));
}

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(CreateRun, MakesAFolderThatIsNamedLikeTheRecorders) {
  const testing::TempDir dir;
  const auto run = create_run({dir / "a/b/", "", "tiny diff/1", {"./x", "--y"}});
  ASSERT_TRUE(run.ok()) << run.error().message;
  const std::regex wanted(dir / "a/b/[0-9]{8}-[0-9]{6}-tiny.diff.1-" + std::to_string(::getpid()));
  EXPECT_TRUE(std::regex_match(*run, wanted)) << *run;
  const auto again = create_run({dir / "a/b", "", "tiny diff/1", {}});
  ASSERT_TRUE(again.ok());
  EXPECT_NE(*again, *run);
}

TEST(CreateRun, WritesTheKeysThatTheRecorderWrites) {
  const testing::TempDir dir;
  const std::int64_t before = base::realtime_ns();
  const auto run = create_run({"", dir / "deep/mine//", "n\"1", {"prog", "a b", "\xff"}});
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(*run, dir / "deep/mine");
  const base::JsonObject json = manifest_of(*run);
  EXPECT_EQ(json.text("schema"), "genscope.run/1");
  EXPECT_EQ(json.text("id"), "mine");
  EXPECT_EQ(json.text("name"), "n\"1");
  EXPECT_EQ(json.texts("command"), (std::vector<std::string>{"prog", "a b", "\xEF\xBF\xBD"}));
  EXPECT_EQ(json.text("version"), GENSCOPE_VERSION_STRING);
  EXPECT_FALSE(json.text("host").empty());
  EXPECT_GE(json.integer("started_unix_ns"), before);
  EXPECT_LE(json.integer("started_unix_ns"), base::realtime_ns());
  EXPECT_FALSE(json.has("exit_code"));
}

TEST(CreateRun, IsNamedAfterItsProgramIfNobodySays) {
  const testing::TempDir dir;
  const auto name = [&](const char* folder, std::vector<std::string> command) {
    const auto run = create_run({"", dir / folder, "", std::move(command)});
    return run.ok() ? manifest_of(*run).text("name") : run.error().message;
  };
  EXPECT_EQ(name("1", {"/usr/bin/sd-server", "x.gguf"}), "sd-server");
  EXPECT_EQ(name("2", {}), "run");
  EXPECT_EQ(name("3", {"/"}), "run");
}

TEST(CreateRun, GoesWhereTheEnvironmentSays) {
  const testing::TempDir dir;
  ::setenv("GENSCOPE_OUT", (dir / "env").c_str(), 1);
  const auto run = create_run({"", "", "x", {}});
  const auto explicit_run = create_run({dir / "out", "", "x", {}});
  ::unsetenv("GENSCOPE_OUT");
  ASSERT_TRUE(run.ok() && explicit_run.ok());
  EXPECT_EQ(run->find(dir / "env/"), 0u) << *run;
  EXPECT_EQ(explicit_run->find(dir / "out/"), 0u) << *explicit_run;
}

TEST(CreateRun, RefusesAFolderThatIsARunAlready) {
  const testing::TempDir dir;
  put(dir / "run.json", "old");
  const auto run = create_run({"", dir.path(), "x", {}});
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(run.error().message.find(dir / "run.json"), std::string::npos);
  EXPECT_EQ(*base::read_file(dir / "run.json"), "old");
}

TEST(CreateRun, NamesThePathThatIsInTheWay) {
  const testing::TempDir dir;
  put(dir / "file", "");
  for (const RunRequest& request :
       {RunRequest{dir / "file/x", "", "n", {}}, RunRequest{"", dir / "file", "n", {}},
        RunRequest{"", dir / "file/y", "n", {}}}) {
    const auto run = create_run(request);
    ASSERT_FALSE(run.ok());
    EXPECT_NE(run.error().message.find(dir / "file"), std::string::npos) << run.error().message;
    EXPECT_NE(run.error().message.find("choose another"), std::string::npos);
  }
}

TEST(FinishRun, AddsTheEndAndKeepsWhatItDoesNotKnow) {
  const testing::TempDir dir;
  put(dir / "run.json", R"({"name": "n", "later": {"a": [1, 2.5]}, "big": 18446744073709551615})");
  ASSERT_TRUE(finish_run(dir.path() + "/", 137).ok());
  const base::JsonObject json = manifest_of(dir.path());
  ASSERT_TRUE(json.valid());
  EXPECT_EQ(json.text("name"), "n");
  EXPECT_EQ(json.integer("exit_code"), 137);
  EXPECT_EQ(json.natural("big"), ~std::uint64_t{0});
  EXPECT_GT(json.integer("finished_unix_ns"), 0);
  EXPECT_NE(base::read_file(dir / "run.json")->find(R"("later":{"a":[1,2.5]})"), std::string::npos);
  ASSERT_TRUE(finish_run(dir.path(), 0).ok());
  EXPECT_EQ(manifest_of(dir.path()).integer("exit_code", 9), 0) << "the last word counts";
}

TEST(FinishRun, KeepsWhatACommandSaidLast) {
  const testing::TempDir dir;
  put(dir / "run.json", R"({"name": "n"})");
  ASSERT_TRUE(finish_run(dir.path(), 1, {.last_words = {"a", "b\xff"}}).ok());
  EXPECT_EQ(manifest_of(dir.path()).texts("last_words"),
            (std::vector<std::string>{"a", "b\uFFFD"}));
}

TEST(FinishRun, KeepsTheKernelsPeakWhereItIsKnown) {
  const testing::TempDir dir;
  put(dir / "run.json", R"({"name": "n"})");
  ASSERT_TRUE(finish_run(dir.path(), 0).ok());
  EXPECT_FALSE(manifest_of(dir.path()).has("max_rss_bytes"));
  ASSERT_TRUE(
      finish_run(dir.path(), 0, {.max_rss_bytes = 5'000'000'000, .cpu_ns = 7, .cpu_wait_ns = 0})
          .ok());
  EXPECT_EQ(manifest_of(dir.path()).integer("max_rss_bytes"), 5'000'000'000);
  EXPECT_EQ(manifest_of(dir.path()).integer("cpu_ns"), 7);
  EXPECT_TRUE(manifest_of(dir.path()).has("cpu_wait_ns")) << "0 was counted";
}

TEST(CreateRun, IsNamedAsAPersonWouldCallTheCommand) {
  using Words = std::vector<std::string>;
  const std::pair<Words, const char*> cases[] = {
      {{"/opt/sd-server", "--port", "1"}, "sd-server"},
      {{"/venv/bin/python3.11", "jobs/gen.py", "--steps", "20"}, "gen.py"},
      {{"python", "-u", "-X", "dev", "-W", "ignore", "gen.py"}, "gen.py"},
      {{"python3", "-m", "comfy.main", "x"}, "comfy.main"},
      {{"python3", "-c", "print(1)"}, "python3"},
      {{"python3", "-m"}, "python3"},
      {{"python3.13t", "gen.py"}, "gen.py"},
      {{"python-build", "3.13"}, "python-build"},
      {{"python3", "-"}, "python3"},
      {{"python3"}, "python3"},
  };
  for (const auto& [command, name] : cases) {
    const testing::TempDir dir;
    const auto path = create_run({.out = dir.path(), .path = "", .name = "", .command = command});
    ASSERT_TRUE(path.ok());
    EXPECT_EQ(manifest_of(*path).text("name"), name);
  }
}

TEST(FinishRun, SaysWhatIsWrongWithTheManifest) {
  const testing::TempDir dir;
  const Status missing = finish_run(dir.path(), 0);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find(dir / "run.json"), std::string::npos);
  EXPECT_FALSE(finish_run(dir / "no/where", 0).ok());
  for (const char* text : {"", "{\"a\":", "[1]", "\xff\xfe"}) {
    put(dir / "run.json", text);
    const Status damaged = finish_run(dir.path(), 0);
    ASSERT_FALSE(damaged.ok()) << text;
    EXPECT_EQ(damaged.error().code, ErrorCode::bad_data);
    EXPECT_NE(damaged.error().message.find(dir / "run.json"), std::string::npos);
    EXPECT_EQ(*base::read_file(dir / "run.json"), text) << "and leaves it as it was";
  }
}

TEST(CreateRun, HidesSecretsOfTheCommandAlsoInTheName) {
  const testing::TempDir dir;
  const std::vector<std::string> command = {"python", "gen.py", "--token", "SECRET"};
  const auto run = create_run({"", dir / "a", "", command});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(manifest_of(*run).texts("command"),
            (std::vector<std::string>{"python", "gen.py", "--token", "***"}));
  const auto named = create_run({"", dir / "b", "", {"python", "hf_AbCdEfGhIjKlMnOp"}});
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(manifest_of(*named).text("name"), "***");
  RunRequest keep{"", dir / "c", "", command};
  keep.keep_args = true;
  const auto kept = create_run(keep);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(manifest_of(*kept).texts("command"), command);
}

TEST(CreateRun, ModesFollowTheUmask) {
  const testing::TempDir dir;
  for (const mode_t mask : {077u, 022u, 002u}) {
    const mode_t before = ::umask(mask);
    const auto run = create_run({dir / std::to_string(mask), "", "x", {}});
    const Status finished = run.ok() ? finish_run(*run, 0) : Status(Done{});
    ::umask(before);
    ASSERT_TRUE(run.ok() && finished.ok());
    struct stat info {};
    ASSERT_EQ(::stat((*run + "/run.json").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0666 & ~mask);
    ASSERT_EQ(::stat(run->c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0777 & ~mask);
  }
}

TEST(ReadRun, RefusesAManifestThatIsTooLargeWithoutReadingIt) {
  const testing::TempDir dir;
  const auto run = create_run({"", dir / "run", "x", {}});
  ASSERT_TRUE(run.ok());
  put(*run + "/trace-1-0.gst", "");
  std::filesystem::resize_file(*run + "/run.json", std::uintmax_t{1} << 30);
  const auto read = read_run(*run);
  ASSERT_FALSE(read.ok());
  const std::string& said = read.error().message;
  EXPECT_NE(said.find(*run + "/run.json has 1073741824 bytes"), std::string::npos) << said;
  EXPECT_NE(said.find("1048576 at most; move it away"), std::string::npos) << said;
  const Status finished = finish_run(*run, 0);
  ASSERT_FALSE(finished.ok());
  EXPECT_NE(finished.error().message.find("move it away"), std::string::npos);
}

}  // namespace
}  // namespace genscope

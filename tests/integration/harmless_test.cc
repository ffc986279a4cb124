// A program runs as it would without us, whatever runs out: same output, files, exit code,
// descriptors. Each case is helpers/victim twice, once with recording switched off; what differs is
// harm. Faults come from helpers/fault_plugin, one call after another, as in SQLite's tests.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <set>

#include "support.h"

namespace genscope::testing {
namespace {

using Words = std::vector<std::string>;

struct Outcome {
  int exit_code = 0, signal = 0;
  std::string out;
  std::map<std::string, std::string> files;
  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& to, const Outcome& it) {
  to << "exit " << it.exit_code << ", signal " << it.signal << "\n" << it.out;
  for (const auto& [name, bytes] : it.files) to << name << ": " << bytes.size() << " bytes\n";
  return to;
}

struct Case {
  Words how;                // for the victim
  Words before;             // a command that starts it: sh -c 'ulimit ...; exec "$@"' sh
  Child::Environment more;  // for both
  std::string disk;         // where both work; empty: a folder
};

struct Ran {
  Outcome outcome;
  std::string err;
  std::size_t traces = 0;
};

Ran run_once(const Case& it, const Child::Environment& environment) {
  const TempDir dir;
  const std::string place = it.disk.empty() ? dir.path() : it.disk;
  const std::string folder = place + "/own", out = place + "/out";
  for (const std::string& path : {dir.path(), folder, out}) {
    std::filesystem::create_directories(path);
    ::chmod(path.c_str(), 0777);
  }
  Words command = it.before;
  command.push_back(helper_path("victim"));
  command.push_back(folder);
  command.insert(command.end(), it.how.begin(), it.how.end());
  Child::Environment all = it.more;
  all.insert({"GENSCOPE_OUT", out});
  all.insert({"GENSCOPE_RUN_DIR", ""});
  for (const auto& [key, value] : environment) all[key] = value;
  const Ended ended = Child(dir, command, all).wait();
  Ran ran{{ended.exit_code, ended.signal, ended.out, {}}, ended.err, 0};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ran.outcome.files[entry.path().filename()] = slurp(entry.path());
  }
  if (std::filesystem::exists(out)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
      ran.traces += entry.path().extension() == ".gst" ? 1 : 0;
    }
  }
  std::filesystem::remove_all(folder);
  std::filesystem::remove_all(out);
  return ran;
}

const Child::Environment kWithoutUs = {{"GENSCOPE_DISABLE", "1"}};

// What recording says, if it says anything: lines of ours.
void expect_only_our_lines(const std::string& err) {
  std::istringstream lines(err);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("genscope: recording is off: ")) << line;
  }
}

Ran expect_same(const Case& it) {
  const Outcome without = run_once(it, kWithoutUs).outcome;
  Ran with = run_once(it, {});
  EXPECT_EQ(with.outcome, without) << with.err;
  expect_only_our_lines(with.err);
  return with;
}

Words limited(const std::string& limit) {
  return {"bash", "-c", "ulimit " + limit + "; exec \"$@\"", "bash"};
}

// --- what the program does

TEST(Harmless, NothingIsDifferentInOrdinaryLife) {
  if (kAddressSanitizer) GTEST_SKIP() << kNoForkUnderAsan;
  if (kThreadSanitizer) GTEST_SKIP() << "tsan cannot start threads in a forked child";
  const Ran ran = expect_same({{"threads", "fork", "rawfork"}, {}, {}, ""});
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.traces, 3u) << "two sessions and a forked child";
}

TEST(Harmless, ClosedDescriptors) {
  if (kThreadSanitizer) GTEST_SKIP() << "tsan calls it a race that the program closes our files";
  EXPECT_EQ(expect_same({{"closefrom"}, {}, {}, ""}).traces, 2u);
  EXPECT_EQ(expect_same({{"closefrom", "much", "closefrom", "exit"}, {}, {}, ""}).err, "");
}

TEST(Harmless, Daemons) {
  if (kAddressSanitizer) GTEST_SKIP() << kNoForkUnderAsan;
  if (kThreadSanitizer) GTEST_SKIP() << "tsan cannot start threads in a forked child";
  expect_same({{"daemon"}, {}, {}, ""});
  expect_same({{"setsid", "threads"}, {}, {}, ""});
}

TEST(Harmless, DroppedPrivileges) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can drop privileges";
  expect_same({{"drop"}, {}, {}, ""});
}

TEST(Harmless, AnotherPreloadedLibrary) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer must be the first library";
  expect_same({{"threads"}, {}, {{"LD_PRELOAD", helper_path("fault_plugin.so")}}, ""});
}

// --- what runs out

TEST(Harmless, FileSizeLimits) {
  for (const char* limit : {"-f 4", "-f 300", "-f 1000", "-f 3000"}) {
    SCOPED_TRACE(limit);
    expect_same({{"threads"}, limited(limit), {}, ""});
  }
}

TEST(Harmless, DescriptorLimits) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need descriptors of their own";
  // What this process hands on takes places, too; the program needs some to load its libraries.
  int taken = 0;
  for (int fd = 0; fd < 256; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) taken = fd + 1;
  }
  for (int limit = taken + 3; limit < taken + 11; ++limit) {
    SCOPED_TRACE(limit);
    expect_same({{"threads"}, limited("-n " + std::to_string(limit)), {}, ""});
  }
}

TEST(Harmless, MemoryLimits) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve terabytes";
  for (const char* limit : {"-v 150000", "-v 300000", "-v 1000000"}) {
    SCOPED_TRACE(limit);
    expect_same({{"threads"}, limited(limit), {}, ""});
  }
}

TEST(Harmless, ProcessLimits) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root, to become nobody, whom the limit binds";
  if (kSanitized) GTEST_SKIP() << "sanitizers start threads of their own";
  const TempDir dir;
  if (Child(dir, {"setpriv", "--version"}).wait().exit_code != 0) GTEST_SKIP() << "no setpriv";
  for (const char* limit : {"1", "2"}) {
    SCOPED_TRACE(limit);
    const Words nobody = {"setpriv",
                          "--reuid=65534",
                          "--regid=65534",
                          "--clear-groups",
                          "--",
                          "bash",
                          "-c",
                          std::string("ulimit -u ") + limit + "; exec \"$@\"",
                          "bash"};
    expect_same({{}, nobody, {}, ""});
  }
}

TEST(Harmless, FoldersThatCannotBeWrittenOrVanish) {
  if (kThreadSanitizer) GTEST_SKIP() << "tsan calls it a race that the program closes our files";
  expect_same({{}, {}, {{"GENSCOPE_OUT", "/proc/nowhere"}}, ""});
  expect_same({{}, {}, {{"GENSCOPE_OUT", "/dev/null/x"}}, ""});
  expect_same({{"vanish"}, {}, {}, ""});
  expect_same({{"vanish", "threads", "closefrom"}, {}, {}, ""});
}

class SmallDisk {
 public:
  SmallDisk(const std::string& path, const std::string& size) : path_(path) {
    std::filesystem::create_directories(path);
    mounted_ = ::mount("genscope-test", path.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_ = false;
};

TEST(Harmless, SmallDisks) {
  for (const char* size : {"64k", "300k", "1m", "4m"}) {
    SCOPED_TRACE(size);
    const TempDir dir;
    const SmallDisk disk(dir / "disk", size);
    if (!disk.mounted()) GTEST_SKIP() << "may not mount";
    expect_same({{"threads"}, {}, {}, dir / "disk"});
  }
}

TEST(Harmless, TheRoomOnADiskIsTheProgramsOwn) {
  const TempDir dir;
  // Live buffers take an eighth at most and a trace a quarter; 12.6 MB (three fifths) are to fit
  // beside them.
  const SmallDisk disk(dir / "disk", "20m");
  if (!disk.mounted()) GTEST_SKIP() << "may not mount";
  const Ran ran = expect_same({{"much", "much", "save"}, {}, {}, dir / "disk"});
  EXPECT_EQ(ran.outcome.out.find("failed"), std::string::npos);
}

// --- every call that can fail, one after the other

std::uint64_t count_calls(const Case& it, const std::string& kind) {
  const TempDir dir;
  run_once(it, {{"FAULT_KIND", kind}, {"FAULT_N", "0"}, {"FAULT_COUNT", dir / "count"}});
  return std::strtoull(slurp(dir / "count").c_str(), nullptr, 10);
}

// Fails the nth call alone, then the nth and all after it.
void fail_each(const std::string& kind, const Words& how, std::uint64_t every = 1) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has its own malloc, and calls of its own";
  const Case it{how, {}, {{"LD_PRELOAD", helper_path("fault_plugin.so")}}, ""};
  const Outcome without = run_once(it, kWithoutUs).outcome;
  const std::uint64_t calls = count_calls(it, kind);
  ASSERT_GT(calls, 0u) << "nothing is tested";
  for (std::uint64_t n = 1; n <= calls; n += every) {
    for (const bool all : {false, true}) {
      if (all && n > 60 && n % 5 != 0) continue;
      Child::Environment fault = {{"FAULT_KIND", kind}, {"FAULT_N", std::to_string(n)}};
      if (all) fault["FAULT_ALL"] = "1";
      const Ran ran = run_once(it, fault);
      ASSERT_EQ(ran.outcome, without)
          << kind << " " << n << (all ? " and all after it: " : ": ") << ran.err;
    }
  }
}

const Words kWholeLife = {"threads", "fork"};

TEST(FaultSanitizeSkip, Memory) { fail_each("memory", kWholeLife); }
TEST(FaultSanitizeSkip, Threads) { fail_each("thread", kWholeLife); }
TEST(FaultSanitizeSkip, Open) { fail_each("open", kWholeLife); }
TEST(FaultSanitizeSkip, Write) { fail_each("write", kWholeLife); }
TEST(FaultSanitizeSkip, Mmap) { fail_each("mmap", kWholeLife); }
TEST(FaultSanitizeSkip, Fallocate) { fail_each("fallocate", {"much", "fork"}); }
TEST(FaultSanitizeSkip, Ftruncate) { fail_each("ftruncate", kWholeLife); }
TEST(FaultSanitizeSkip, MemoryOfAProgramThatLeavesByExit) {
  fail_each("memory", {"closefrom", "exit"}, 7);
}

}  // namespace
}  // namespace genscope::testing

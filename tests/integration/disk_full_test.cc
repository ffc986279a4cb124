// A disk that is full, a folder that cannot be written or goes away: the program goes on, one line
// says why recording is off, and what was recorded before is readable and counted.
#include <sys/mount.h>
#include <sys/resource.h>

#include "support.h"

namespace genscope::testing {
namespace {

struct Report {
  std::uint64_t made = 0, recorded = 0, lost = 0;
  int active = -1;
  std::string error;
};

Report parse(const std::string& out) {
  Report r;
  unsigned long made = 0, recorded = 0, lost = 0;
  EXPECT_EQ(std::sscanf(out.c_str(), "made=%lu recorded=%lu lost=%lu active=%d", &made, &recorded,
                        &lost, &r.active),
            4)
      << out;
  r.made = made;
  r.recorded = recorded;
  r.lost = lost;
  const std::size_t at = out.find("error=");
  if (at != std::string::npos) r.error = out.substr(at + 6, out.size() - at - 7);
  return r;
}

// Exactly one line, with our name and the reason.
void expect_one_line(const std::string& err, const std::string& reason) {
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  EXPECT_TRUE(err.starts_with("genscope: recording is off: ")) << err;
  EXPECT_NE(err.find(reason), std::string::npos) << err;
}

// All that was taken is in the trace or counted there, and nothing else.
void expect_all_accounted_for(const std::string& run_dir, const Report& report) {
  const Trace trace = only_trace(run_dir);
  expect_sound(trace);
  EXPECT_EQ(spans_named(trace, "burst").size() - 1, report.recorded);  // less the session
  EXPECT_EQ(total_dropped_spans(trace), report.lost);
  EXPECT_EQ(trace.integrity.bad_words, 0u);
  EXPECT_EQ(trace.integrity.bad_frames, 0u);
  EXPECT_EQ(trace.integrity.missing_chunks, 0u);
}

class Tmpfs {
 public:
  Tmpfs(const std::string& path, const std::string& size) : path_(path) {
    std::filesystem::create_directories(path);
    mounted_ = ::mount("genscope-test", path.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~Tmpfs() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_ = false;
};

// All that was made is in the trace or counted there, whenever it was made.
void expect_every_span_told_of(const Trace& trace, const Report& report) {
  const std::uint64_t lost = total_dropped_spans(trace);
  EXPECT_EQ(spans_named(trace, "burst").size() + lost, report.made + 1);  // and the session
  EXPECT_GE(lost, report.lost);
  EXPECT_LE(lost, report.lost + 1) << "the session's own was counted after the program asked";
  EXPECT_EQ(trace.integrity.bad_words, 0u);
  EXPECT_EQ(trace.integrity.bad_frames, 0u);
  EXPECT_EQ(trace.integrity.missing_chunks, 0u);
}

TEST(DiskFull, ATraceTakesOnlyItsShareOfASmallDisk) {
  const TempDir dir;
  const Tmpfs disk(dir / "disk", "10m");
  if (!disk.mounted()) GTEST_SKIP() << "may not mount; the file size limit below tests the same";
  const Ended ended = run_helper(dir, "burst", {dir / "disk/run", "3000000"});
  EXPECT_EQ(ended.exit_code, 0);
  expect_one_line(ended.err, "little space left on device");
  const Report report = parse(ended.out);
  EXPECT_EQ(report.active, 0);
  EXPECT_NE(report.error.find("space left"), std::string::npos);
  std::uint64_t taken = 0;
  for (const auto& e : std::filesystem::directory_iterator(dir / "disk/run"))
    taken += e.file_size();
  EXPECT_LT(taken, 4u << 20);
  const Trace trace = only_trace(dir / "disk/run");
  EXPECT_TRUE(trace.integrity.closed);
  EXPECT_NE(trace.integrity.stopped.find("share"), std::string::npos);
  EXPECT_GT(trace.spans.size(), 10'000u);
  expect_every_span_told_of(trace, report);
}

TEST(DiskFull, ADiskThatOthersFillStopsRecordingAndKeepsWhatWasThere) {
  const TempDir dir;
  const Tmpfs disk(dir / "disk", "30m");
  if (!disk.mounted()) GTEST_SKIP() << "may not mount; the file size limit below tests the same";
  Child child(dir, {helper_path("burst"), dir / "disk/run", "2000000", "2000"});
  const std::string trace_file = dir / "disk/run/trace-" + std::to_string(child.pid()) + "-0.gst";
  std::error_code ignored;
  for (int i = 0; i < 10'000 && std::filesystem::file_size(trace_file, ignored) + 1 < 100'000;
       ++i) {
    ::usleep(1000);
  }
  std::ofstream filler(dir / "disk/filler");
  const std::string block(1 << 16, 'x');
  while (filler << block << std::flush) {
  }
  const Ended ended = child.wait();
  EXPECT_EQ(ended.exit_code, 0);
  expect_one_line(ended.err, "space left on device");
  const Report report = parse(ended.out);
  EXPECT_EQ(report.active, 0);
  filler.close();
  std::filesystem::remove(dir / "disk/filler");
  const Trace trace = only_trace(dir / "disk/run");
  EXPECT_FALSE(trace.integrity.stopped.empty());
  expect_every_span_told_of(trace, report);
  const Trace again = only_trace(dir / "disk/run");
  EXPECT_EQ(again.spans.size(), trace.spans.size())
      << "read from the trace, where it was folded to";
  EXPECT_EQ(again.integrity.stopped, trace.integrity.stopped);
  expect_every_span_told_of(again, report);
}

TEST(DiskFull, ADiskWithoutRoomForBuffersOnlySwitchesRecordingOff) {
  const TempDir dir;
  const Tmpfs disk(dir / "disk", "256k");
  if (!disk.mounted()) GTEST_SKIP() << "may not mount";
  const Ended ended = run_helper(dir, "burst", {dir / "disk/run", "1000"});
  EXPECT_EQ(ended.exit_code, 0);
  expect_one_line(ended.err, "No space left on device");
  const Report report = parse(ended.out);
  EXPECT_EQ(report.recorded, 0u);
  for (const auto& e : std::filesystem::directory_iterator(dir / "disk/run")) {
    EXPECT_EQ(e.path().extension(), ".json") << "left behind: " << e.path();
  }
}

TEST(DiskFull, AFileSizeLimitStopsRecordingAndKeepsWhatWasThere) {
  const TempDir dir;
  // Limits are inherited; in a child, since the test's own must stay. Its signal is not ignored:
  // none may come.
  const int code = in_child([&] {
    const rlim_t bytes = 1 << 20;
    const rlimit limit{bytes, bytes};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 9;
    return run_helper(dir, "burst", {dir / "run", "600000", "1500"}).exit_code;
  });
  EXPECT_EQ(code, 0);
  expect_one_line(slurp(dir / "stderr"), "File too large");
  const Report report = parse(slurp(dir / "stdout"));
  EXPECT_EQ(report.active, 0);
  EXPECT_GT(report.recorded, 10'000u);
  expect_all_accounted_for(dir / "run", report);
}

TEST(DiskFull, AnUnwritableFolderIsOneLineAndNothingElse) {
  const TempDir dir;
  std::ofstream(dir / "file") << "x";
  for (const std::string& place : {dir / "file/run", std::string("/proc/genscope/run")}) {
    const Ended ended = run_helper(dir, "burst", {place, "1000"});
    EXPECT_EQ(ended.exit_code, 0);
    expect_one_line(ended.err, place.substr(0, place.rfind('/')));
    const Report report = parse(ended.out);
    EXPECT_EQ(report.active, 0);
    EXPECT_EQ(report.recorded, 0u);
    EXPECT_FALSE(report.error.empty());
  }
}

TEST(DiskFull, QuietSaysNothingButKnowsWhy) {
  const TempDir dir;
  std::ofstream(dir / "file") << "x";
  SessionOptions options;
  options.run_dir = dir / "file/run";
  options.quiet = true;
  ::testing::internal::CaptureStderr();
  const Session session("quiet", options);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(session.active());
  EXPECT_NE(session.error().find("file/run"), std::string::npos);
}

TEST(DiskFull, AfterAFailureTheNextSessionRecordsAgain) {
  const TempDir dir;
  std::ofstream(dir / "file") << "x";
  SessionOptions bad;
  bad.run_dir = dir / "file/run";
  bad.quiet = true;
  {
    const Session session("bad", bad);
    const Stage stage("nowhere");
    EXPECT_FALSE(stage.recorded());
  }
  {
    const Session session("good", options_in(dir));
    EXPECT_TRUE(session.active()) << session.error();
    EXPECT_EQ(session.error(), "");
    const Stage stage("here");
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  EXPECT_NE(span_named(trace, "here"), kNone);
}

TEST(DiskFull, AFolderThatIsRemovedMeanwhileIsNoticed) {
  const TempDir dir;
  Child child(dir, {helper_path("burst"), dir / "run", "1000", "3500"});
  for (int i = 0; i < 5000 && !std::filesystem::exists(dir / "run/run.json"); ++i) ::usleep(1000);
  ::usleep(300'000);
  std::filesystem::remove_all(dir / "run");
  const Ended ended = child.wait();
  EXPECT_EQ(ended.exit_code, 0);
  expect_one_line(ended.err, "deleted");
  EXPECT_EQ(parse(ended.out).active, 0);
  EXPECT_FALSE(std::filesystem::exists(dir / "run"));
}

}  // namespace
}  // namespace genscope::testing

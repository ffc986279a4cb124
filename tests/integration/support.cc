#include "support.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>

#include "test_paths.h"

namespace genscope::testing {

SessionOptions options_in(const TempDir& dir) {
  SessionOptions options;
  options.run_dir = dir / "run";
  return options;
}

Trace only_trace(const std::string& run_dir) {
  auto run = read_run(run_dir);
  if (!run.ok()) {
    ADD_FAILURE() << run.error().message;
    return {};
  }
  for (const std::string& note : run->notes) ADD_FAILURE() << note;
  EXPECT_EQ(run->traces.size(), 1u);
  return run->traces.empty() ? Trace{} : std::move(run->traces.front());
}

void expect_whole(const Trace& trace) {
  const Integrity& in = trace.integrity;
  EXPECT_TRUE(in.closed);
  EXPECT_EQ(in.bad_frames, 0u);
  EXPECT_EQ(in.bad_bytes, 0u);
  EXPECT_EQ(in.missing_chunks, 0u);
  EXPECT_EQ(in.bad_words, 0u);
  EXPECT_EQ(in.unfinished_spans, 0u);
  for (const TrackInfo& t : trace.tracks) {
    EXPECT_EQ(t.dropped_spans, 0u) << t.name;
    EXPECT_EQ(t.dropped_records, 0u) << t.name;
  }
}

std::vector<std::uint32_t> spans_named(const Trace& trace, std::string_view name) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
    if (trace.span_name(i) == name) out.push_back(i);
  }
  return out;
}

std::uint32_t span_named(const Trace& trace, std::string_view name) {
  const auto all = spans_named(trace, name);
  EXPECT_EQ(all.size(), 1u) << name;
  return all.empty() ? kNone : all.front();
}

std::string parent_name(const Trace& trace, std::uint32_t span) {
  if (span == kNone || trace.spans.parent[span] == kNone) return "";
  return trace.span_name(trace.spans.parent[span]);
}

std::uint64_t total_dropped_spans(const Trace& trace) {
  std::uint64_t n = 0;
  for (const TrackInfo& t : trace.tracks) n += t.dropped_spans;
  return n;
}

void expect_sound(const Trace& t) {
  const auto index = [](std::uint32_t i, std::size_t size) { return i == kNone || i < size; };
  const std::size_t spans = t.spans.size(), events = t.events.size();
  for (const std::size_t n : {t.spans.duration_ns.size(), t.spans.name.size(), t.spans.track.size(),
                              t.spans.parent.size(), t.spans.flags.size()}) {
    ASSERT_EQ(n, spans);
  }
  for (std::size_t i = 0; i < spans; ++i) {
    ASSERT_LT(t.spans.name[i], t.names.size());
    ASSERT_LT(t.spans.track[i], t.tracks.size());
    ASSERT_TRUE(index(t.spans.parent[i], spans));
    ASSERT_GE(t.spans.duration_ns[i], 0);
    const std::uint32_t p = t.spans.parent[i];
    if (p != kNone) {
      ASSERT_TRUE(std::pair(t.spans.begin_ns[p], p) <
                  std::pair(t.spans.begin_ns[i], std::uint32_t(i)))
          << "a parent begins first, so there is no cycle";
    }
  }
  const auto sound_args = [&](const ArgColumns& a, std::size_t owners) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_LT(a.owner[i], owners);
      ASSERT_TRUE(i == 0 || a.owner[i - 1] <= a.owner[i]);
      ASSERT_LT(a.key[i], t.names.size());
      ASSERT_LE(a.type[i], ArgType::boolean);
      ASSERT_TRUE(a.type[i] != ArgType::text || a.bits[i] < t.texts.size());
    }
  };
  sound_args(t.span_args, spans);
  sound_args(t.event_args, events);
  for (std::size_t i = 0; i < events; ++i) {
    ASSERT_LT(t.events.name[i], t.names.size());
    ASSERT_LT(t.events.track[i], t.tracks.size());
    ASSERT_TRUE(index(t.events.span[i], spans));
  }
  for (std::size_t i = 0; i < t.counters.size(); ++i) {
    ASSERT_LT(t.counters.name[i], t.names.size());
    ASSERT_LT(t.counters.track[i], t.tracks.size());
  }
  for (std::size_t i = 0; i < t.device.size(); ++i) {
    ASSERT_LT(t.device.span[i], spans);
    ASSERT_GE(t.device.duration_ns[i], 0);
    ASSERT_TRUE(i == 0 || t.device.span[i - 1] < t.device.span[i]);
  }
  for (const Gap& g : t.gaps) ASSERT_LT(g.track, t.tracks.size());
}

void expect_same_time(std::int64_t recorded_ns, const Bounds& measured) {
  const std::int64_t allowed =
      std::max<std::int64_t>(measured.inner_ns / 100, kSanitized ? 200'000 : 20'000);
  EXPECT_LE(recorded_ns, measured.outer_ns + allowed);
  EXPECT_GE(recorded_ns, measured.inner_ns - allowed);
}

void spin_ns(std::int64_t ns) {
  const std::int64_t until = base::monotonic_ns() + ns;
  while (base::monotonic_ns() < until) {
  }
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string helper_path(const std::string& name) {
  return std::string(GENSCOPE_HELPER_DIR) + "/" + name;
}

Ended run_helper(const TempDir& dir, const std::string& name, std::vector<std::string> args,
                 const Child::Environment& environment) {
  args.insert(args.begin(), helper_path(name));
  return Child(dir, args, environment).wait();
}

Child::Child(const TempDir& dir, std::vector<std::string> command, const Environment& environment)
    : out_(dir / "stdout"), err_(dir / "stderr") {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  // Made before the fork: where threads run, a child must not allocate before its exec.
  std::vector<std::string> settings;
  for (const auto& [key, value] : environment) settings.push_back(key + "=" + value);
  std::vector<char*> env;
  for (std::string& setting : settings) env.push_back(setting.data());
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    const std::string name(*inherited, std::strcspn(*inherited, "="));
    if (!environment.contains(name)) env.push_back(*inherited);
  }
  env.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ != 0) return;
  const int out = ::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int err = ::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  ::dup2(out, 1);
  ::dup2(err, 2);
  ::execvpe(argv[0], argv.data(), env.data());
  ::_exit(127);
}

Child::~Child() {
  if (pid_ <= 0 || waited_) return;
  ::kill(pid_, SIGKILL);
  wait();
}

Ended Child::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  waited_ = true;
  Ended ended;
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.out = slurp(out_);
  ended.err = slurp(err_);
  return ended;
}

SharedWords::SharedWords(const std::string& path, std::size_t count) : count_(count) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0644);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(count * 8)) != 0) std::abort();
  words_ = static_cast<std::atomic<std::uint64_t>*>(
      ::mmap(nullptr, count * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ::close(fd);
  if (words_ == MAP_FAILED) std::abort();
}

SharedWords::~SharedWords() { ::munmap(static_cast<void*>(words_), count_ * 8); }

}  // namespace genscope::testing

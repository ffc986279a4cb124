// What the integration tests share: runs in folders of their own, helper programs, views of a
// Trace.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "genscope/record.h"
#include "genscope/store.h"
#include "testing/random.h"
#include "testing/sanitizer.h"
#include "testing/temp_dir.h"

namespace genscope::testing {

SessionOptions options_in(const TempDir& dir);

// The only trace of the run in `dir`; a test failure and an empty one if there is another number.
Trace only_trace(const std::string& run_dir);
inline Trace only_trace(const TempDir& dir) { return only_trace(dir / "run"); }

// Nothing lost, nothing damaged, everything closed.
void expect_whole(const Trace& trace);

std::vector<std::uint32_t> spans_named(const Trace& trace, std::string_view name);

// The only span of this name.
std::uint32_t span_named(const Trace& trace, std::string_view name);

std::string parent_name(const Trace& trace, std::uint32_t span);

inline bool finished(const Trace& trace, std::size_t span) {
  return (trace.spans.flags[span] & kSpanUnfinished) == 0;
}

std::uint64_t total_dropped_spans(const Trace& trace);

// Every index points at something, whatever the bytes were.
void expect_sound(const Trace& t);

// An interval measured just inside a span and just outside of it. The span's own length lies
// between, however the scheduler treats us; usually the two are within a microsecond.
struct Bounds {
  std::int64_t inner_ns = 0;
  std::int64_t outer_ns = 0;
};

// What was recorded agrees with the thread's own clock within 1 % (and the cost of reading it).
void expect_same_time(std::int64_t recorded_ns, const Bounds& measured);

void spin_ns(std::int64_t ns);

// How a helper program of tests/integration/helpers ended.
struct Ended {
  int exit_code = -1;  // or -1
  int signal = 0;
  std::string out, err;
};

std::string slurp(const std::string& path);

std::string helper_path(const std::string& name);

// A started program; its output goes to files in `dir`.
class Child {
 public:
  using Environment = std::map<std::string, std::string>;
  Child(const TempDir& dir, std::vector<std::string> command, const Environment& environment = {});
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();
  pid_t pid() const { return pid_; }
  Ended wait();

 private:
  std::string out_, err_;
  pid_t pid_ = -1;
  bool waited_ = false;
};

Ended run_helper(const TempDir& dir, const std::string& name, std::vector<std::string> args,
                 const Child::Environment& environment = {});

// Runs `body` in a forked child; its return value is the exit code. For what must not touch the
// test's own process.
template <class Body>
int in_child(Body&& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Words in a file that two processes share.
class SharedWords {
 public:
  SharedWords(const std::string& path, std::size_t count);
  ~SharedWords();
  SharedWords(const SharedWords&) = delete;
  SharedWords& operator=(const SharedWords&) = delete;
  std::atomic<std::uint64_t>& operator[](std::size_t i) { return words_[i]; }

 private:
  std::size_t count_;
  std::atomic<std::uint64_t>* words_;
};

}  // namespace genscope::testing

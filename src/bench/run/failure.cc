#include "bench/run/failure.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/file_reader.h"
#include "base/text.h"
#include "probe/host/cgroup_text.h"

namespace genscope::bench {
namespace {

// What the frameworks say when a GPU's memory is full.
constexpr std::array<std::string_view, 8> kGpuMemoryWords = {
    "CUDA out of memory",          "HIP out of memory",        "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation",   "hipErrorOutOfMemory",      "torch.OutOfMemoryError",
    "torch.cuda.OutOfMemoryError", "CUDA error: out of memory"};

std::string signal_text(int number) {
  const char* const word = sigabbrev_np(number);
  return word != nullptr ? fmt::format("SIG{}", word) : fmt::format("signal {}", number);
}

// The last lines, whole where they are not the whole of what was kept.
std::string tail_of(const std::string& errors) {
  std::string_view text = errors;
  if (errors.size() >= kErrorsKept) {
    const std::size_t line = text.find('\n');
    if (line != std::string_view::npos && line + 1 < text.size()) text.remove_prefix(line + 1);
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return base::to_utf8(text);
}

std::string with_tail(std::string what, const std::string& errors) {
  const std::string tail = tail_of(errors);
  return tail.empty() ? what : std::move(what) + "\n" + tail;
}

bool is_fatal(int number) {
  for (const int fatal : {SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGTERM}) {
    if (number == fatal) return true;
  }
  return false;
}

std::optional<std::uint64_t> oom_line(const std::string& path) {
  const Result<std::string> text = base::read_file(path, 1 << 20);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = base::next_part(rest, '\n');
    if (base::next_word(line) != "oom_kill") continue;
    return std::strtoull(std::string(base::next_word(line)).c_str(), nullptr, 10);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> count_oom_kills(const std::string& proc_root,
                                             const std::string& sys_root) {
  const Result<std::string> cgroup = base::read_file(proc_root + "/self/cgroup", 1 << 20);
  const Result<std::string> mounts = base::read_file(proc_root + "/self/mountinfo", 16 << 20);
  if (cgroup && mounts) {
    const probe::CgroupPlaces places = probe::find_cgroups(*cgroup, *mounts, sys_root);
    if (places.memory) {
      const char* const file = places.memory->v2 ? "/memory.events" : "/memory.oom_control";
      if (const auto kills = oom_line(places.memory->folder + file)) return kills;
    }
  }
  return oom_line(proc_root + "/vmstat");
}

std::optional<Failure> failure_of(const Ended& ended, const JudgeEnd& how) {
  if (ended.spawn_error != 0) {
    return Failure{FailureClass::startup_failed, std::strerror(ended.spawn_error)};
  }
  if (ended.cancelled) return Failure{FailureClass::cancelled, "interrupted"};
  if (ended.timed_out) {
    return Failure{FailureClass::timeout,
                   with_tail(fmt::format("still running after {:g} s", how.timeout_s.value_or(0)),
                             ended.errors)};
  }
  const bool exited = WIFEXITED(ended.status);
  const int code = exited ? WEXITSTATUS(ended.status) : 0;
  if (exited && code == 0) return std::nullopt;
  for (const std::string_view words : kGpuMemoryWords) {
    if (ended.errors.find(words) == std::string::npos) continue;
    return Failure{FailureClass::oom_gpu, with_tail("the GPU's memory is full", ended.errors)};
  }
  const bool by_shell = exited && how.shell && code > 128 && is_fatal(code - 128);
  const int number = exited ? (by_shell ? code - 128 : 0) : WTERMSIG(ended.status);
  if (number == SIGKILL && how.oom_killed) {
    return Failure{FailureClass::oom_host,
                   with_tail("the kernel killed it: memory is full", ended.errors)};
  }
  if (number != 0) {
    return Failure{FailureClass::crash, with_tail(signal_text(number), ended.errors)};
  }
  if (code == 127 && how.shell) {
    return Failure{FailureClass::startup_failed,
                   with_tail("exit code 127: the shell did not find it", ended.errors)};
  }
  if (how.ignore_failure) return std::nullopt;
  return Failure{FailureClass::exit_nonzero,
                 with_tail(fmt::format("exit code {}", code), ended.errors)};
}

}  // namespace genscope::bench

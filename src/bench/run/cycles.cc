// A counter of this thread that is inherited: the kernel adds to it what a child counted when that
// ends, so that nothing has to be attached between fork() and exec(). The thread itself counts too,
// some microseconds around the run; a second counter, not inherited, takes that off again.
#include "bench/run/cycles.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace genscope::bench {
namespace {

constexpr double kWholly = 0.98;  // share of the time in which a counter has to have counted

int open_counter(std::uint32_t type, std::uint64_t config, bool inherit) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.inherit = inherit ? 1 : 0;
  attributes.exclude_kernel = 1;  // more is not allowed to most users
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string reason_of(int error) {
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV) {
    return "this CPU shows no counters, as in most virtual machines";
  }
  if (error == EACCES || error == EPERM) {
    return "the kernel does not let this user count; `sysctl kernel.perf_event_paranoid=2` would";
  }
  return std::string("the kernel does not count: ") + std::strerror(error);
}

template <class Reading>
Reading read_counter(const base::UniqueFd& fd) {
  std::uint64_t words[3] = {};
  if (::read(fd.get(), words, sizeof words) != static_cast<ssize_t>(sizeof words)) return {};
  return {words[0], words[1], words[2]};
}

}  // namespace

CycleCounter::Events CycleCounter::hardware() noexcept {
  return {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS};
}

std::unique_ptr<CycleCounter> CycleCounter::open(std::string& why, const Events& events) {
  auto counter = std::make_unique<CycleCounter>();
  counter->events_ = events;
  if (!counter->open_counters(why)) return nullptr;
  return counter;
}

bool CycleCounter::open_counters(std::string& why) {
  thread_ = static_cast<int>(::syscall(SYS_gettid));
  for (auto [counter, config] :
       {std::pair(&cycles_, events_.cycles), std::pair(&instructions_, events_.instructions)}) {
    counter->all.reset(open_counter(events_.type, config, true));
    if (!counter->all.valid()) {
      why = reason_of(errno);
      return false;
    }
    counter->own.reset(open_counter(events_.type, config, false));
  }
  return true;
}

void CycleCounter::begin() {
  std::string why;
  if (thread_ != static_cast<int>(::syscall(SYS_gettid))) open_counters(why);
  for (Counter* const one : {&cycles_, &instructions_}) {
    one->all_begin = read_counter<Reading>(one->all);
    one->own_begin = read_counter<Reading>(one->own);
  }
}

std::optional<double> CycleCounter::since(const Counter& counter) {
  const auto all = read_counter<Reading>(counter.all), own = read_counter<Reading>(counter.own);
  const auto enabled = static_cast<double>(all.enabled - counter.all_begin.enabled);
  const auto running = static_cast<double>(all.running - counter.all_begin.running);
  if (!(enabled > 0) || running < kWholly * enabled) return std::nullopt;
  const double counted = static_cast<double>(all.value - counter.all_begin.value) -
                         static_cast<double>(own.value - counter.own_begin.value);
  if (!(counted > 0)) return std::nullopt;
  return counted;
}

std::optional<CpuCounts> CycleCounter::end() {
  const std::optional<double> cycles = since(cycles_), instructions = since(instructions_);
  if (!cycles || !instructions) return std::nullopt;
  return CpuCounts{*cycles, *instructions};
}

}  // namespace genscope::bench

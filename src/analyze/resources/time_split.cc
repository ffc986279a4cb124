// The kernel tells how long threads ran and how long they were ready and had no CPU; both are sums
// over threads. A stretch between two readings cannot have more of either than its length, and what
// is left of it was spent waiting: for storage as often as the state of the main threads said so in
// that stretch. For one thread at a time that is exact but for the states, which are samples.
#include "analyze/resources/time_split.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "analyze/resources/points_of.h"
#include "analyze/time.h"
#include "base/file_reader.h"

namespace genscope::analysis {
namespace {

// The last reading at or before a time; the counters of a tick are read within a moment.
std::optional<double> value_at(const Points& points, std::int64_t at_ns) {
  const auto after = std::upper_bound(points.at_ns.begin(), points.at_ns.end(), at_ns);
  if (after == points.at_ns.begin()) return std::nullopt;
  return points.value[static_cast<std::size_t>(after - points.at_ns.begin()) - 1];
}

double sum_of(const Points& points, Interval time) {
  const PointRange range = range_within(points, time);
  double sum = 0;
  for (std::size_t i = range.first; i < range.last; ++i) sum += points.value[i];
  return sum;
}

// How often the states say storage among those that say asleep. A state that says running tells
// nothing of the time in which the program waited. An older trace has no second series: all
// count.
class States {
 public:
  States(Points storage, Points asleep)
      : storage_(std::move(storage)), asleep_(std::move(asleep)) {}

  bool any() const { return !storage_.value.empty(); }

  // Nothing if no state was read in that time; 0 if the program was never seen asleep.
  std::optional<double> in_storage(Interval time) const {
    const std::size_t looks = range_within(storage_, time).size();
    if (looks == 0) return std::nullopt;
    const double waits = sum_of(storage_, time);
    if (asleep_.value.empty()) return waits / static_cast<double>(looks);
    const double asleep = sum_of(asleep_, time);
    return asleep > 0 ? std::optional(waits / asleep) : std::nullopt;
  }

 private:
  Points storage_, asleep_;
};

std::string why_not_split(const EntityRow& tree) {
  const SeriesRow* const row = tree.find("cpu_wait_ns");
  if (row == nullptr) return "recorded without the time that threads waited for a CPU";
  return row->reason.empty() ? "fewer than two readings" : row->reason;
}

class Split {
 public:
  // What was used and waited for within a stretch, in seconds; `in_storage`: of the time that is
  // neither.
  void add(double length, double ran, double waited, std::optional<double> in_storage) {
    const double on = std::clamp(ran, 0.0, length);
    const double ready = std::clamp(waited, 0.0, length - on);
    const double rest = length - on - ready;
    const double stored = std::min(1.0, in_storage.value_or(0)) * rest;
    know_storage_ = know_storage_ && in_storage.has_value();
    length_ += length;
    on_ += on;
    ready_ += ready;
    storage_ += stored;
    ran_ += ran;
    waited_ += waited;
  }

  void tell(TimeSplit& split) const {
    split.covered_seconds = length_;
    if (length_ <= 0) return;
    split.on_cpu_share = on_ / length_;
    split.ready_share = ready_ / length_;
    if (know_storage_) {
      split.storage_share = storage_ / length_;
      split.other_share = std::max(0.0, length_ - on_ - ready_ - storage_) / length_;
    } else {
      split.reason = "the states of the processes were not read";
    }
    if (ran_ + waited_ > 0) split.cpu_wait_share = waited_ / (ran_ + waited_);
  }

 private:
  double length_ = 0, on_ = 0, ready_ = 0, storage_ = 0, ran_ = 0, waited_ = 0;
  bool know_storage_ = true;
};

std::optional<ThreadTime> thread_of(std::string_view detail) {
  constexpr std::size_t kNumbers = 7;
  std::uint64_t number[kNumbers];
  for (std::uint64_t& one : number) {
    if (!base::parse_number(base::next_word(detail), one)) return std::nullopt;
  }
  const auto [pid, tid, seen, ran, waited, looks, in_storage] = number;
  if (seen == 0 || pid > UINT32_MAX || tid > UINT32_MAX || in_storage > looks) return std::nullopt;
  ThreadTime thread;
  thread.pid = static_cast<std::uint32_t>(pid);
  thread.tid = static_cast<std::uint32_t>(tid);
  if (!detail.empty() && detail.front() == ' ') detail.remove_prefix(1);
  thread.name = detail;
  const auto length = static_cast<double>(seen);
  thread.seen_seconds = length / 1e9;
  thread.on_cpu_share = std::min(1.0, static_cast<double>(ran) / length);
  thread.ready_share = std::min(1 - thread.on_cpu_share, static_cast<double>(waited) / length);
  double rest = 1 - thread.on_cpu_share - thread.ready_share;
  constexpr std::uint64_t kFewestLooks = 3;
  if (looks >= kFewestLooks) {
    thread.storage_share = rest * static_cast<double>(in_storage) / static_cast<double>(looks);
    rest -= *thread.storage_share;
  }
  thread.other_share = std::max(0.0, rest);
  return thread;
}

double wanted_seconds(const ThreadTime& thread) {
  return (thread.on_cpu_share + thread.ready_share) * thread.seen_seconds;
}

// Of each thread what was told of it last.
std::vector<ThreadTime> thread_times(const Run& run) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, ThreadTime> last;
  for (const Trace& trace : run.traces) {
    for (const SampleEvent& event : trace.samples.events) {
      if (event.name != "thread") continue;
      if (auto thread = thread_of(event.detail)) {
        const std::pair key(thread->pid, thread->tid);
        last.insert_or_assign(key, std::move(*thread));
      }
    }
  }
  std::vector<ThreadTime> threads;
  for (auto& [key, thread] : last) threads.push_back(std::move(thread));
  std::stable_sort(threads.begin(), threads.end(), [](const ThreadTime& a, const ThreadTime& b) {
    return wanted_seconds(a) > wanted_seconds(b);
  });
  if (threads.size() > TimeSplit::kMostThreads) threads.resize(TimeSplit::kMostThreads);
  return threads;
}

}  // namespace

TimeSplit time_split(const Run& run, const Clocks& clocks, const Telemetry& telemetry) {
  TimeSplit split;
  const EntityRow* const tree = telemetry.first(EntityKind::process_tree);
  if (tree == nullptr) {
    split.reason = "no probe watched the process: use `genscope run`";
    return split;
  }
  split.threads = thread_times(run);
  const Points cpu = points_of(run, clocks, tree->entity.id, "cpu_ns");
  const Points wait = points_of(run, clocks, tree->entity.id, "cpu_wait_ns");
  const States states(points_of(run, clocks, tree->entity.id, "storage_wait"),
                      points_of(run, clocks, tree->entity.id, "asleep"));
  if (wait.at_ns.size() < 2 || cpu.at_ns.empty()) {
    split.reason = why_not_split(*tree);
    return split;
  }
  // Where no state of a stretch says asleep, those of the whole run stand for it.
  std::optional<double> usually;
  if (states.any()) usually = states.in_storage({kEarliest, kLatest}).value_or(0);
  Split sum;
  for (std::size_t i = 1; i < wait.at_ns.size(); ++i) {
    const std::int64_t begin = wait.at_ns[i - 1], end = wait.at_ns[i];
    const std::optional<double> before = value_at(cpu, begin), after = value_at(cpu, end);
    const double waited = wait.value[i] - wait.value[i - 1];
    if (end <= begin || !before || !after || *after < *before || waited < 0) continue;
    std::optional<double> in_storage = states.in_storage({begin, end});
    if (!in_storage) in_storage = usually;
    sum.add(seconds(subtract(end, begin)), (*after - *before) / 1e9, waited / 1e9, in_storage);
  }
  sum.tell(split);
  if (!split.on_cpu_share) split.reason = "fewer than two readings";
  return split;
}

}  // namespace genscope::analysis

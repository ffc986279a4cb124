// A wait for the GPU gives its time to the span around it, or to the last one before it on its
// track: all that was queued before ended there. If most stages hold or are followed by a wait, the
// spans show the GPU's time; if one span has it all, they show the queue's.
#include "analyze/resources/span_clock.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analyze/resources/host_calls.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

// Calls of the driver, as imports have them, and what programs mark a wait as.
bool is_gpu_wait(std::string_view name) {
  return name == "synchronize" || name == "torch.cuda.synchronize" || waits_for_gpu(name);
}

bool is_ranked(SpanKind kind) noexcept {
  return kind == SpanKind::stage || kind == SpanKind::load || kind == SpanKind::step ||
         kind == SpanKind::forward || kind == SpanKind::block || kind == SpanKind::batch;
}

// The waits of one process among the spans that a report ranks.
class GpuWaits {
 public:
  explicit GpuWaits(const Trace& trace) : trace_(trace), spans_(trace.spans) {
    std::vector<bool> wait_names;
    for (const Name& name : trace.names) wait_names.push_back(is_gpu_wait(name.text));
    if (std::find(wait_names.begin(), wait_names.end(), true) == wait_names.end()) return;
    for (std::uint32_t i = 0; i < spans_.size(); ++i) {
      if (wait_names[spans_.name[i]] && (spans_.flags[i] & kSpanUnfinished) == 0) {
        waits_.push_back(i);
      }
    }
    if (waits_.empty()) return;
    find_own_times(wait_names);
    find_last_spans();
  }

  bool any() const noexcept { return !waits_.empty(); }

  // Time in the spans around a wait or last before it, what is in others inside not counted; with
  // the wait itself where it is outside.
  double last_spans_ns() const {
    double sum = outside_ns_;
    for (std::uint32_t i = 0; i < spans_.size(); ++i) {
      if (last_[i]) sum += own_ns_[i];
    }
    return sum;
  }

  // Spans of a kind that hold no other of it (stages in steps are left out), and those of them in
  // which or right after which the host waited.
  struct Ended {
    std::uint64_t all = 0, waited = 0;
  };
  Ended ended(SpanKind kind) const {
    const auto is = [&](std::uint32_t i) { return ranked_[i] && trace_.kind(i) == kind; };
    std::vector<bool> holds_other(spans_.size()), waited = last_;
    for (std::uint32_t i = static_cast<std::uint32_t>(spans_.size()); i-- > 0;) {
      const std::uint32_t outer = parent(i);
      if (outer == kNone) continue;
      if (waited[i]) waited[outer] = true;
      if (kind == SpanKind::stage && trace_.kind(i) == SpanKind::step) continue;
      if (holds_other[i] || is(i)) holds_other[outer] = true;
    }
    Ended result;
    for (std::uint32_t i = 0; i < spans_.size(); ++i) {
      if (!is(i) || holds_other[i]) continue;
      if (kind == SpanKind::stage && in_step(i)) continue;
      ++result.all;
      result.waited += waited[i] ? 1 : 0;
    }
    return result;
  }

 private:
  // kNone where a damaged trace has it after its child.
  std::uint32_t parent(std::uint32_t span) const noexcept {
    return spans_.parent[span] < span ? spans_.parent[span] : kNone;
  }
  bool in_step(std::uint32_t span) const noexcept {
    std::uint32_t at = parent(span);
    while (at != kNone && trace_.kind(at) != SpanKind::step) at = parent(at);
    return at != kNone;
  }

  void find_own_times(const std::vector<bool>& wait_names) {
    ranked_.resize(spans_.size());
    nearest_.assign(spans_.size(), kNone);
    own_ns_.resize(spans_.size());
    for (std::uint32_t i = 0; i < spans_.size(); ++i) {
      const std::uint32_t outer = parent(i) == kNone ? kNone : nearest_[parent(i)];
      ranked_[i] = is_ranked(trace_.kind(i)) && !wait_names[spans_.name[i]] &&
                   (spans_.flags[i] & (kSpanDetached | kSpanUnfinished)) == 0;
      nearest_[i] = ranked_[i] ? i : outer;
      if (!ranked_[i]) continue;
      own_ns_[i] = static_cast<double>(spans_.duration_ns[i]);
      if (outer != kNone) own_ns_[outer] -= own_ns_[i];
    }
  }

  void find_last_spans() {
    last_.resize(spans_.size());
    std::vector<std::uint32_t> by_end;  // of a track those that ended, the latest last
    for (std::uint32_t i = 0; i < spans_.size(); ++i) {
      if (ranked_[i]) by_end.push_back(i);
    }
    const auto key = [&](std::uint32_t i) { return std::pair(spans_.track[i], end_ns(i)); };
    std::sort(by_end.begin(), by_end.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    for (const std::uint32_t wait : waits_) {
      if (nearest_[wait] != kNone) {
        last_[nearest_[wait]] = true;
        continue;
      }
      const std::pair limit(spans_.track[wait], spans_.begin_ns[wait]);
      const auto after =
          std::upper_bound(by_end.begin(), by_end.end(), limit,
                           [&](const auto& at, std::uint32_t i) { return at < key(i); });
      if (after == by_end.begin() || spans_.track[*std::prev(after)] != limit.first) continue;
      last_[*std::prev(after)] = true;
      outside_ns_ += static_cast<double>(spans_.duration_ns[wait]);
    }
  }

  std::int64_t end_ns(std::uint32_t span) const noexcept {
    return add(spans_.begin_ns[span], spans_.duration_ns[span]);
  }

  const Trace& trace_;
  const SpanColumns& spans_;
  std::vector<std::uint32_t> waits_;
  std::vector<bool> ranked_, last_;
  std::vector<std::uint32_t> nearest_;  // ranked span around each, itself included
  std::vector<double> own_ns_;
  double outside_ns_ = 0;
};

}  // namespace

SpanClock find_span_clock(const Run& run, const Analysis& analysis, double busy_ns) {
  SpanClock clock;
  const bool device_time =
      std::any_of(analysis.stages.begin(), analysis.stages.end(), [](const StageRow& row) {
        return row.device_ns.has_value() && row.kind != SpanKind::session;
      });
  if (device_time) clock.gpu = true;
  double stages_ns = 0;
  for (const StageGroup& group : analysis.stage_groups) {
    stages_ns += static_cast<double>(group.exclusive_ns);
  }
  if (busy_ns > 0 && stages_ns > 0) clock.stages_per_busy_ratio = stages_ns / busy_ns;

  double last_ns = 0;
  int processes = 0;
  GpuWaits::Ended stages, steps;
  for (const Trace& trace : run.traces) {
    const GpuWaits waits(trace);
    if (!waits.any()) continue;
    ++processes;
    last_ns += waits.last_spans_ns();
    const GpuWaits::Ended of_stages = waits.ended(SpanKind::stage),
                          of_steps = waits.ended(SpanKind::step);
    stages = {stages.all + of_stages.all, stages.waited + of_stages.waited};
    steps = {steps.all + of_steps.all, steps.waited + of_steps.waited};
  }
  if (processes == 0 || analysis.wall_ns <= 0) return clock;
  const double wall_ns = static_cast<double>(analysis.wall_ns) * processes;
  clock.last_span_share = std::clamp(last_ns / wall_ns, 0.0, 1.0);
  const GpuWaits::Ended& judged = stages.all > 0 ? stages : steps;
  if (!clock.gpu && judged.all > 0) clock.gpu = judged.waited * 2 > judged.all;
  return clock;
}

}  // namespace genscope::analysis

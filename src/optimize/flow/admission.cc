// Threads that wait for their turn. One lock around the queue and the list of who waits, so that a
// decision cannot come before its waiter is listed.
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <genscope/optimize/admission.h>

#include "base/text.h"
#include "optimize/flow/counters.h"
#include "optimize/flow/queue_book.h"

namespace genscope::optimize {

struct Admission::State {
  explicit State(AdmissionOptions options) : queue(std::move(options)) {}

  struct Waiter {
    std::condition_variable_any changed;
    std::optional<AdmissionQueue::Decided> decided;
  };

  void tell(const std::vector<AdmissionQueue::Decided>& decided) {
    for (const AdmissionQueue::Decided& one : decided) {
      const auto found = waiters.find(one.id);
      if (found == waiters.end()) continue;
      found->second->decided = one;
      found->second->changed.notify_one();
    }
    idle.notify_all();
  }

  mutable std::mutex mutex;
  std::condition_variable idle;
  AdmissionQueue queue;
  std::map<std::uint64_t, Waiter*> waiters;
};

Admission::Admission(AdmissionOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
Admission::~Admission() = default;

Admission::Entry Admission::enter(const AdmissionRequest& request, std::stop_token stop) {
  State& s = *state_;
  Entry out;
  std::unique_lock lock(s.mutex);
  const std::int64_t from = flow_now_ns();
  const AdmissionQueue::Entered entered = s.queue.enter(request, from);
  out.refusal_ = entered.refusal;
  if (entered.state == AdmissionQueue::State::refused) return out;
  if (entered.state == AdmissionQueue::State::wait) {
    State::Waiter waiter;
    s.waiters.emplace(entered.id, &waiter);
    const auto ready = [&waiter] { return waiter.decided.has_value(); };
    if (request.deadline_ns == kNoDeadline) {
      waiter.changed.wait(lock, stop, ready);
    } else {
      waiter.changed.wait_for(
          lock, stop,
          std::chrono::nanoseconds(std::max<std::int64_t>(0, request.deadline_ns - from)), ready);
    }
    s.waiters.erase(entered.id);
    if (!waiter.decided) {
      if (stop.stop_requested()) {
        s.queue.cancel(entered.id);
        out.refusal_.why = Refusal::cancelled;
        return out;
      }
      s.tell(s.queue.expire(flow_now_ns()));
      s.queue.cancel(entered.id);  // if expire() thought otherwise
      out.refusal_.why = Refusal::overdue;
      return out;
    }
    if (!waiter.decided->run) {
      out.refusal_ = waiter.decided->refusal;
      return out;
    }
  }
  out.owner_ = this;
  out.id_ = entered.id;
  out.queue_seconds_ = ns_to_seconds(flow_now_ns() - from);
  return out;
}

void Admission::close() {
  const std::lock_guard lock(state_->mutex);
  state_->tell(state_->queue.close());
}

void Admission::wait_idle() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [this] { return state_->queue.stats(flow_now_ns()).running == 0; });
}

AdmissionStats Admission::stats() const { return state_->queue.stats(flow_now_ns()); }

std::string Admission::prometheus_text() const {
  return optimize::prometheus_text(stats(), state_->queue.options().name);
}

Admission::Entry::Entry(Entry&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      id_(std::exchange(other.id_, 0)),
      queue_seconds_(other.queue_seconds_),
      refusal_(other.refusal_) {}

Admission::Entry& Admission::Entry::operator=(Entry&& other) noexcept {
  if (this != &other) {
    end(true);
    owner_ = std::exchange(other.owner_, nullptr);
    id_ = std::exchange(other.id_, 0);
    queue_seconds_ = other.queue_seconds_;
    refusal_ = other.refusal_;
  }
  return *this;
}

void Admission::Entry::end(bool ok, bool overloaded) noexcept {
  if (owner_ == nullptr) return;
  State& s = *std::exchange(owner_, nullptr)->state_;
  const std::uint64_t id = std::exchange(id_, 0);
  const std::lock_guard lock(s.mutex);
  s.tell(s.queue.finished(id, ok, flow_now_ns(), overloaded));
}

std::string prometheus_text(const AdmissionStats& stats, std::string_view label) {
  std::string out;
  const std::string escaped = base::prometheus_label(label);
  const auto add = [&](const char* metric, const char* type, const char* help, double value) {
    out += fmt::format(
        "# HELP genscope_admission_{0} {1}\n# TYPE genscope_admission_{0} {2}\n"
        "genscope_admission_{0}{{name=\"{3}\"}} {4}\n",
        metric, help, type, escaped, value);
  };
  const auto n = [](auto value) { return static_cast<double>(value); };
  add("admitted_total", "counter", "Requests that began to run.", n(stats.admitted));
  add("rejected_total", "counter", "Requests refused when they came.", n(stats.rejected));
  add("overdue_total", "counter", "Requests dropped from the queue.", n(stats.overdue));
  add("finished_total", "counter", "Requests that ended well.", n(stats.finished));
  add("failed_total", "counter", "Requests that failed while they ran.", n(stats.failed));
  add("waiting", "gauge", "Requests in the queue.", n(stats.waiting));
  add("running", "gauge", "Requests that run.", n(stats.running));
  add("limit", "gauge", "Requests that may run at once.", stats.limit);
  if (stats.desired_replicas) {
    add("desired_replicas", "gauge", "Replicas that the arriving work needs.",
        n(*stats.desired_replicas));
  }
  return out + prometheus_histogram("genscope_admission_queue_seconds",
                                    "Wait of the requests that began to run.", label, stats.queue);
}

}  // namespace genscope::optimize

// Who runs, who waits, who is refused: one lock, no waiting.
//
// The end of a request is predicted as
//   now + (what runs still needs + what waits ahead needs) / limit + its own time + safety *
//   spread,
// with the measured seconds for a unit of cost and their variance; the spread of a sum grows with
// its root. Refusing at the door what would be late keeps the queue as short as the deadlines are
// long, and the device works only for requests that can still be answered. A prediction may be
// wrong, or a request of a higher class may come in between: so it is made again when its turn
// comes.
//
// Costs: enter O(log n), a turn O(classes + log n).
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <genscope/optimize/admission.h>

#include "optimize/flow/counters.h"
#include "optimize/flow/limit.h"
#include "optimize/flow/queue_book.h"

namespace genscope::optimize {
namespace {

constexpr double kServiceWeight = 0.05;       // of a new sample in mean and variance
constexpr double kArrivalMemorySeconds = 30;  // of the arrival rate
constexpr std::uint64_t kLeastArrivals = 10;  // before there is a rate
constexpr double kProbeAfter = 2;             // times what a request seems to take, idle
constexpr double kProbeWeight = 0.5;          // of its sample, if it was quicker than thought
constexpr double kLeastProbeSeconds = 0.1;

struct WaitingRequest {
  AdmissionRequest request;
  std::int64_t arrived_ns = 0;
  QueueHistogram* times = nullptr;
};

struct WaitingClass {
  std::size_t most = 0;
  std::map<std::uint64_t, WaitingRequest> waiting;  // ids count up: in order of arrival
  double cost = 0, cost_squares = 0;
};

struct RunningRequest {
  double cost = 1;
  std::int64_t began_ns = 0;
  bool probe = false;  // it runs though it seemed late
};

}  // namespace

const char* name(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::none:
      return "none";
    case Refusal::queue_full:
      return "queue_full";
    case Refusal::deadline:
      return "deadline";
    case Refusal::overdue:
      return "overdue";
    case Refusal::closed:
      return "closed";
    case Refusal::cancelled:
      return "cancelled";
  }
  return "unknown";
}

struct AdmissionQueue::Impl {
  explicit Impl(AdmissionOptions given)
      : options(std::move(given)),
        limit(limit_options(options)),
        advisor(options.replicas),
        shown_admitted(options.name, "admitted"),
        shown_rejected(options.name, "rejected"),
        shown_overdue(options.name, "overdue"),
        shown_waiting(options.name, "waiting"),
        shown_running(options.name, "running"),
        shown_limit(options.name, "limit"),
        shown_replicas(options.name, "desired_replicas"),
        shown_queue(options.name, "queue_seconds") {
    if (options.classes.empty()) options.classes.emplace_back();
    for (const AdmissionClass& one : options.classes) {
      classes.emplace_back();
      classes.back().most = one.queue;
    }
    if (options.seconds_per_cost > 0) {
      learn(options.seconds_per_cost);
      first_count = first.size();  // it is known already
    }
  }

  static LimitOptions limit_options(const AdmissionOptions& options) {
    LimitOptions out = options.limit;
    out.start = options.concurrency;
    if (!(out.most > out.least)) out.least = out.most = options.concurrency;
    return out;
  }

  std::size_t slots() const { return static_cast<std::size_t>(limit.value()); }

  // Whether a request may run though it seems late, so that what was measured can be measured anew:
  // else a service that was slow for a moment would refuse for ever. Nothing else could use the
  // device meanwhile.
  bool may_probe(const AdmissionRequest& request, std::int64_t now_ns) const {
    if (!running.empty() || anyone_waits() || request.deadline_ns <= now_ns) return false;
    const double expected = request.cost * mean;  // without the margin for safety
    const double since = ns_to_seconds(now_ns - last_learned_ns);
    return expected <= ns_to_seconds(request.deadline_ns - now_ns) ||
           since > kProbeAfter * std::max(expected, kLeastProbeSeconds);
  }

  // The first requests of a service load a model or compile it; and later ones may. So the first
  // few are taken by their median, and from then on one that is far off counts as three deviations.
  // A service that has become slower is followed all the same: each such sample widens the spread.
  // What a probe shows is fresher than all before it, if the service has become quicker.
  void learn(double seconds_per_cost, bool probe = false) {
    measured = true;
    if (probe && seconds_per_cost < mean) {
      mean += kProbeWeight * (seconds_per_cost - mean);
      variance = std::min(variance, mean * mean);
      return;
    }
    if (first_count < first.size()) {
      first[first_count++] = seconds_per_cost;
      std::sort(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(first_count));
      mean = first[(first_count - 1) / 2];
      variance = std::pow(mean / 4, 2);  // a guess, until there are more
      return;
    }
    const double most_off = 3 * std::max(std::sqrt(variance), mean / 10);
    const double off = std::clamp(seconds_per_cost - mean, -most_off, most_off);
    mean += kServiceWeight * off;
    variance += kServiceWeight * (off * off - variance);
  }

  // Seconds from now until a request with so much cost ahead would end; with `spread`.
  double ends_in(double cost, double ahead, double ahead_squares, std::int64_t now_ns) const {
    const double at_once = static_cast<double>(slots());
    double before = 0, squares = 0;
    if (running.size() >= slots() || ahead > 0) {
      const double elapsed =
          static_cast<double>(running.size()) * ns_to_seconds(now_ns - origin_ns) - running_began;
      before = std::max(0.0, running_cost * mean - elapsed) + ahead * mean;
      squares = running_squares + ahead_squares;
    }
    const double spread = std::sqrt(variance * (squares / (at_once * at_once) + cost * cost));
    return before / at_once + cost * mean + options.safety * spread;
  }

  double late_by(const AdmissionRequest& request, double ends_in_seconds,
                 std::int64_t now_ns) const {
    if (request.deadline_ns == kNoDeadline || !measured) return 0;
    return ends_in_seconds - ns_to_seconds(request.deadline_ns - now_ns);
  }

  double queue_delay() const {  // until all that waits has begun
    double cost = 0;
    for (const WaitingClass& one : classes) cost += one.cost;
    return cost * mean / static_cast<double>(slots());
  }

  void count_arrival(double cost, std::int64_t now_ns) {
    if (arrivals++ == 0) first_arrival_ns = last_arrival_ns = now_ns;
    const double passed = ns_to_seconds(now_ns - last_arrival_ns);
    arrived_cost = arrived_cost * std::exp(-passed / kArrivalMemorySeconds) + cost;
    last_arrival_ns = now_ns;
  }

  std::optional<double> arrival_rate(std::int64_t now_ns) const {
    const double age = ns_to_seconds(now_ns - first_arrival_ns);
    if (arrivals < kLeastArrivals || age < 1) return std::nullopt;
    const double passed = std::max(0.0, ns_to_seconds(now_ns - last_arrival_ns));
    const double memory = kArrivalMemorySeconds;
    return arrived_cost * std::exp(-passed / memory) / (memory * (1 - std::exp(-age / memory)));
  }

  void begin(std::uint64_t id, const WaitingRequest& item, std::int64_t now_ns,
             bool probe = false) {
    const double cost = item.request.cost;
    running.emplace(id, RunningRequest{cost, now_ns, probe});
    running_cost += cost;
    running_squares += cost * cost;
    running_began += ns_to_seconds(now_ns - origin_ns);
    ++admitted;
    const double waited = ns_to_seconds(now_ns - item.arrived_ns);
    item.times->add(waited);
    shown_queue.set(waited);
  }

  void leave(WaitingClass& from, std::map<std::uint64_t, WaitingRequest>::iterator at) {
    const double cost = at->second.request.cost;
    from.waiting.erase(at);
    from.cost = from.waiting.empty() ? 0 : std::max(0.0, from.cost - cost);
    from.cost_squares = from.waiting.empty() ? 0 : std::max(0.0, from.cost_squares - cost * cost);
  }

  bool anyone_waits() const {
    return std::any_of(classes.begin(), classes.end(),
                       [](const WaitingClass& one) { return !one.waiting.empty(); });
  }

  // Whether the wait of a request without a deadline has been too long.
  bool stale(const WaitingRequest& one, std::int64_t now_ns) const {
    if (!(options.queue_target_seconds > 0)) return false;
    const bool standing = now_ns - last_empty_ns > seconds_to_ns(options.queue_interval_seconds);
    const double most = standing ? options.queue_target_seconds : options.queue_interval_seconds;
    return ns_to_seconds(now_ns - one.arrived_ns) > most;
  }

  bool overdue(const WaitingRequest& one, std::int64_t now_ns) const {
    if (one.request.deadline_ns == kNoDeadline) return stale(one, now_ns);
    if (one.request.deadline_ns <= now_ns) return true;
    const double cost = one.request.cost;
    const double own = cost * mean + options.safety * std::sqrt(variance) * cost;
    return measured && now_ns + seconds_to_ns(own) > one.request.deadline_ns;
  }

  Decided drop(std::uint64_t id, Refusal why) {
    Decided out{id, false, {why, std::nullopt}};
    if (why == Refusal::overdue) ++overdue_count;
    if (measured && why != Refusal::closed) out.refusal.retry_after_seconds = queue_delay();
    return out;
  }

  // Whose turn it is.
  void fill(std::int64_t now_ns, std::vector<Decided>& out) {
    for (WaitingClass& one : classes) {
      while (!one.waiting.empty() && running.size() < slots()) {
        const auto head = one.waiting.begin();
        const std::uint64_t id = head->first;
        const WaitingRequest item = head->second;
        leave(one, head);
        if (overdue(item, now_ns)) {
          out.push_back(drop(id, Refusal::overdue));
        } else {
          begin(id, item, now_ns);
          out.push_back({id, true, {}});
        }
      }
    }
    if (!anyone_waits()) last_empty_ns = now_ns;
  }

  void publish(std::int64_t now_ns) {
    if (!pace.due(now_ns)) return;
    const std::optional<double> rate = arrival_rate(now_ns);
    if (rate && measured) {
      advised = advisor.update(*rate, limit.value() / mean, now_ns);
      shown_replicas.set(static_cast<double>(*advised));
    }
    show();
  }

  void show() const {
    std::size_t waiting = 0;
    for (const WaitingClass& one : classes) waiting += one.waiting.size();
    shown_admitted.set(static_cast<double>(admitted));
    shown_rejected.set(static_cast<double>(rejected));
    shown_overdue.set(static_cast<double>(overdue_count));
    shown_waiting.set(static_cast<double>(waiting));
    shown_running.set(static_cast<double>(running.size()));
    shown_limit.set(limit.value());
  }

  Entered refuse(Refusal why, std::optional<double> retry_after) {
    ++rejected;
    return {0, State::refused, {why, retry_after}};
  }

  AdmissionOptions options;
  AdaptiveLimit limit;
  ReplicaAdvisor advisor;
  QueueBook book{{"class", "tenant"}};
  FlowCounter shown_admitted, shown_rejected, shown_overdue, shown_waiting, shown_running,
      shown_limit, shown_replicas, shown_queue;
  mutable std::mutex mutex;
  FlowPace pace;
  std::vector<WaitingClass> classes;
  std::unordered_map<std::uint64_t, RunningRequest> running;
  double running_cost = 0, running_squares = 0;
  double running_began = 0;  // sum of seconds since origin_ns
  std::int64_t origin_ns = 0;
  bool measured = false, closed = false, started = false;
  std::array<double, 7> first = {};
  std::size_t first_count = 0;
  double mean = 0, variance = 0;  // seconds for a unit of cost
  double arrived_cost = 0;
  std::int64_t first_arrival_ns = 0, last_arrival_ns = 0, last_empty_ns = 0, last_learned_ns = 0;
  std::uint64_t next_id = 1, arrivals = 0, admitted = 0, rejected = 0, overdue_count = 0,
                cancelled = 0, finished_count = 0, failed = 0;
  std::optional<std::size_t> advised;
};

AdmissionQueue::AdmissionQueue(AdmissionOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
AdmissionQueue::~AdmissionQueue() { impl_->show(); }

const AdmissionOptions& AdmissionQueue::options() const noexcept { return impl_->options; }

AdmissionQueue::Entered AdmissionQueue::enter(const AdmissionRequest& given, std::int64_t now_ns) {
  Impl& s = *impl_;
  const std::lock_guard lock(s.mutex);
  if (!s.started) {
    s.started = true;
    s.origin_ns = s.last_empty_ns = s.last_learned_ns = now_ns;
  }
  AdmissionRequest request = given;
  if (!(request.cost > 0)) request.cost = 1;
  request.in_class = std::min(request.in_class, s.classes.size() - 1);
  s.count_arrival(request.cost, now_ns);
  s.publish(now_ns);
  if (s.closed) return s.refuse(Refusal::closed, std::nullopt);

  double ahead = 0, squares = 0;
  for (std::size_t i = 0; i <= request.in_class; ++i) {
    ahead += s.classes[i].cost;
    squares += s.classes[i].cost_squares;
  }
  const double late = s.late_by(request, s.ends_in(request.cost, ahead, squares, now_ns), now_ns);
  if (late > 0 && !s.may_probe(request, now_ns)) return s.refuse(Refusal::deadline, late);
  const bool at_once = s.running.size() < s.slots() && !s.anyone_waits();
  WaitingClass& mine = s.classes[request.in_class];
  if (!at_once && mine.waiting.size() >= mine.most) {
    std::optional<double> after;
    if (s.measured && mine.cost > 0) {
      const double one = mine.cost / static_cast<double>(mine.waiting.size());
      after = one * s.mean / static_cast<double>(s.slots());
    }
    return s.refuse(Refusal::queue_full, after);
  }
  const std::uint64_t id = s.next_id++;
  const std::string_view tenant = std::exchange(request.tenant, {});  // not ours to keep
  const WaitingRequest item{request, now_ns,
                            &s.book.row(s.options.classes[request.in_class].name, tenant)};
  if (at_once) {
    s.begin(id, item, now_ns, late > 0);
    return {id, State::run, {}};
  }
  mine.waiting.emplace(id, item);
  mine.cost += request.cost;
  mine.cost_squares += request.cost * request.cost;
  return {id, State::wait, {}};
}

std::vector<AdmissionQueue::Decided> AdmissionQueue::finished(std::uint64_t id, bool ok,
                                                              std::int64_t now_ns,
                                                              bool overloaded) {
  Impl& s = *impl_;
  const std::lock_guard lock(s.mutex);
  std::vector<Decided> out;
  const auto found = s.running.find(id);
  if (found == s.running.end()) return out;
  const RunningRequest done = found->second;
  const std::size_t at_once = s.running.size();
  s.running.erase(found);
  const bool none = s.running.empty();
  s.running_cost = none ? 0 : s.running_cost - done.cost;
  s.running_squares = none ? 0 : s.running_squares - done.cost * done.cost;
  s.running_began = none ? 0 : s.running_began - ns_to_seconds(done.began_ns - s.origin_ns);
  const double per_cost = ns_to_seconds(now_ns - done.began_ns) / done.cost;
  ++(ok ? s.finished_count : s.failed);
  if (ok) s.learn(per_cost, done.probe);  // a failure may be quick
  s.last_learned_ns = now_ns;
  if (overloaded) {
    s.limit.overloaded();
  } else if (ok) {
    s.limit.finished(per_cost, at_once);
  }
  s.fill(now_ns, out);
  s.publish(now_ns);
  return out;
}

bool AdmissionQueue::cancel(std::uint64_t id) {
  Impl& s = *impl_;
  const std::lock_guard lock(s.mutex);
  for (WaitingClass& one : s.classes) {
    const auto found = one.waiting.find(id);
    if (found == one.waiting.end()) continue;
    s.leave(one, found);
    ++s.cancelled;
    return true;
  }
  return false;
}

std::vector<AdmissionQueue::Decided> AdmissionQueue::expire(std::int64_t now_ns) {
  Impl& s = *impl_;
  const std::lock_guard lock(s.mutex);
  std::vector<Decided> out;
  for (WaitingClass& one : s.classes) {
    for (auto it = one.waiting.begin(); it != one.waiting.end();) {
      const auto at = it++;
      if (!s.overdue(at->second, now_ns)) continue;
      const std::uint64_t id = at->first;
      s.leave(one, at);
      out.push_back(s.drop(id, Refusal::overdue));
    }
  }
  s.publish(now_ns);
  return out;
}

std::vector<AdmissionQueue::Decided> AdmissionQueue::close() {
  Impl& s = *impl_;
  const std::lock_guard lock(s.mutex);
  s.closed = true;
  std::vector<Decided> out;
  for (WaitingClass& one : s.classes) {
    for (const auto& [id, item] : one.waiting) out.push_back(s.drop(id, Refusal::closed));
    s.rejected += one.waiting.size();
    one.waiting.clear();
    one.cost = one.cost_squares = 0;
  }
  return out;
}

AdmissionStats AdmissionQueue::stats(std::int64_t now_ns) const {
  const Impl& s = *impl_;
  const std::lock_guard lock(s.mutex);
  AdmissionStats out;
  out.admitted = s.admitted;
  out.rejected = s.rejected;
  out.overdue = s.overdue_count;
  out.cancelled = s.cancelled;
  out.finished = s.finished_count;
  out.failed = s.failed;
  for (const WaitingClass& one : s.classes) out.waiting += one.waiting.size();
  out.running = s.running.size();
  out.limit = s.limit.value();
  if (s.measured) out.seconds_per_cost = s.mean;
  out.arriving_per_second = s.arrival_rate(now_ns);
  out.desired_replicas = s.advised;
  out.queue = s.book.rows();
  return out;
}

}  // namespace genscope::optimize

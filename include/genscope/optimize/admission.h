// Admission: which requests are taken on, when each may run, and which are refused in time.
//
//   genscope::optimize::Admission admission({.classes = {{"interactive", 32}, {"bulk", 256}},
//                                            .concurrency = 1});
//   Admission::Entry entry = admission.enter({.deadline_ns = deadline});       // blocks
//   if (!entry.admitted()) return busy(entry.refusal().retry_after_seconds);   // at once, mostly
//   generate();                                                   // the permit ends with `entry`
//
// A request is refused when it comes if its class's queue is full or if it would, by what was
// measured so far, end after its deadline. One that became overdue while it waited is dropped when
// its turn comes. So the requests that run are those that can still be answered in time.
//
// Classes are in order of priority: one runs only if none of an earlier class waits.
//
// Threads: Admission and AdmissionQueue may be used from any thread. AdmissionQueue never waits: it
// is for event loops and tests, and gets the time as an argument.
//
// Counters of a run while one is recorded, about once a second: `NAME/admitted`, `NAME/rejected`,
// `NAME/overdue`, `NAME/waiting`, `NAME/running`, `NAME/limit`, `NAME/desired_replicas`; and
// `NAME/queue_seconds` for each request that begins to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/internal/optimize/queue_times.h>
#include <genscope/optimize/retry.h>

namespace genscope::optimize {

// --- how many at once

struct LimitOptions {
  double least = 1;
  double most = 1;  // equal to `least`: the limit is fixed
  double start = 1;
  double tolerance = 1.5;  // times may grow to this multiple before the limit shrinks
  double room = 1;         // grows by this, times `smoothing`, in each window
  double smoothing = 0.2;
  std::size_t window = 20;  // samples between two changes
};

// --- how many replicas

struct ReplicaOptions {
  std::size_t least = 1, most = 1000;
  double down_after_seconds = 300;  // fewer only after fewer sufficed for so long
  double down_ratio = 0.9;          // and with this share of their capacity in use, at most
};

// ceil(arriving cost a second / cost a second that one replica serves within its SLO), at least 1.
// None if either is not known.
std::optional<std::size_t> desired_replicas(double arriving_cost_per_second,
                                            double capacity_per_second) noexcept;

// The same with hysteresis: up at once, down after a while. For an autoscaler; nothing is started
// here.
class ReplicaAdvisor {
 public:
  explicit ReplicaAdvisor(ReplicaOptions options = {}) noexcept;
  std::size_t update(double arriving_cost_per_second, double capacity_per_second,
                     std::int64_t now_ns) noexcept;
  std::size_t value() const noexcept { return now_; }

 private:
  ReplicaOptions options_;
  std::size_t now_;
  std::size_t most_since_ = 0;
  std::optional<std::int64_t> below_since_ns_;
};

// --- which

struct AdmissionClass {
  std::string name = "default";
  std::size_t queue = 64;  // requests that may wait
};

struct AdmissionOptions {
  std::string name = "admission";
  std::vector<AdmissionClass> classes = {AdmissionClass{}};
  // Requests that run at once; with `limit.most` above `limit.least`, what it starts with.
  double concurrency = 1;
  LimitOptions limit = {};
  // Seconds for a unit of cost before any was measured. 0: not known, and the queue alone decides.
  double seconds_per_cost = 0;
  // How many standard deviations of the service time a prediction adds; 2.33 keeps 99 of 100.
  double safety = 2.33;
  // Requests without a deadline are dropped after this wait, if the queue was never empty for
  // `queue_interval_seconds`; else after that. 0: never.
  double queue_target_seconds = 0;
  double queue_interval_seconds = 10;
  ReplicaOptions replicas = {};
};

struct AdmissionRequest {
  std::size_t in_class = 0;  // index in `classes`; a larger one is the last
  double cost = 1;
  std::int64_t deadline_ns = kNoDeadline;
  std::string_view tenant = {};  // who asks, for the histograms of waits; read by enter() alone
};

enum class Refusal : std::uint8_t { none, queue_full, deadline, overdue, closed, cancelled };
const char* name(Refusal refusal) noexcept;

struct AdmissionRefusal {
  Refusal why = Refusal::none;
  std::optional<double> retry_after_seconds;  // for the caller; absent: not known
};

struct AdmissionStats {
  std::uint64_t admitted = 0;   // began to run
  std::uint64_t rejected = 0;   // refused when they came
  std::uint64_t overdue = 0;    // dropped from the queue
  std::uint64_t cancelled = 0;  // left the queue by themselves
  std::uint64_t finished = 0, failed = 0;
  std::size_t waiting = 0, running = 0;
  double limit = 1;
  std::optional<double> seconds_per_cost;       // absent: nothing has finished
  std::optional<double> arriving_per_second;    // cost; absent: too few came
  std::optional<std::size_t> desired_replicas;  // absent: one of those is
  std::vector<QueueTimes> queue;                // waits by `class` and `tenant`; 64 pairs at most
};

// Text format 0.0.4: genscope_admission_admitted_total{name="..."} and so on, and the histogram
// genscope_admission_queue_seconds by class and tenant. What is not known is left out.
std::string prometheus_text(const AdmissionStats& stats, std::string_view name);

class AdmissionQueue {
 public:
  explicit AdmissionQueue(AdmissionOptions options = {});
  ~AdmissionQueue();
  AdmissionQueue(const AdmissionQueue&) = delete;
  AdmissionQueue& operator=(const AdmissionQueue&) = delete;

  enum class State : std::uint8_t { run, wait, refused };
  struct Entered {
    std::uint64_t id = 0;  // 0 if refused
    State state = State::refused;
    AdmissionRefusal refusal;
  };
  // What became of a request that waited.
  struct Decided {
    std::uint64_t id = 0;
    bool run = false;
    AdmissionRefusal refusal;
  };

  Entered enter(const AdmissionRequest& request, std::int64_t now_ns);
  // A request that ran has ended; `overloaded`: it timed out or ran out of memory, which shrinks an
  // adaptive limit. Gives the requests whose turn it is, or that were dropped.
  std::vector<Decided> finished(std::uint64_t id, bool ok, std::int64_t now_ns,
                                bool overloaded = false);
  // A request that waits leaves; false: it does not wait (any more).
  bool cancel(std::uint64_t id);
  // Drops what is overdue; for a timer. finished() does so, too.
  std::vector<Decided> expire(std::int64_t now_ns);
  std::vector<Decided> close();  // drain: what waits is refused, what runs goes on
  AdmissionStats stats(std::int64_t now_ns) const;
  const AdmissionOptions& options() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The same for threads: enter() waits for its turn.
class Admission {
 public:
  explicit Admission(AdmissionOptions options = {});
  ~Admission();  // after all entries
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // A permit, or a refusal. The permit ends with the object.
  class Entry {
   public:
    Entry() = default;
    Entry(Entry&& other) noexcept;
    Entry& operator=(Entry&& other) noexcept;
    ~Entry() { end(true); }
    bool admitted() const noexcept { return id_ != 0; }
    const AdmissionRefusal& refusal() const noexcept { return refusal_; }
    double queue_seconds() const noexcept { return queue_seconds_; }
    void end(bool ok, bool overloaded = false) noexcept;

   private:
    friend class Admission;
    Admission* owner_ = nullptr;
    std::uint64_t id_ = 0;
    double queue_seconds_ = 0;
    AdmissionRefusal refusal_;
  };

  Entry enter(const AdmissionRequest& request = {}, std::stop_token stop = {});
  void close();      // refuses what waits and what comes; see wait_idle()
  void wait_idle();  // until nothing runs
  AdmissionStats stats() const;
  std::string prometheus_text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace genscope::optimize

// The generator. One thread sends and receives; it sleeps until the next scheduled arrival, an
// absolute time, then sends all that are due. Nothing that an answer does can move a later arrival.
// What the generator itself is late by is in the result (began - scheduled), so that a slow
// generator is never taken for a slow server.
//
// Memory: 100 bytes a request.
#include <fmt/format.h>
#include <sched.h>
#include <sys/timex.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "base/clock.h"
#include "bench/http/load.h"
#include "bench/http/load_judge.h"

namespace genscope::bench {
namespace {

constexpr std::int64_t kTick = 100'000'000;        // ns between looks at progress
constexpr std::int64_t kAfterError = 100'000'000;  // ns until a user of a closed loop asks again
constexpr double kPunctualRate = 10'000;
// Warm-up requests have numbers and seeds of their own: a server with a cache would answer the
// first that count from what it made for them. Seeds stay within 31 bits, which all servers take.
constexpr std::uint64_t kWarmUp = 1U << 30;
constexpr std::int64_t kSoon = 1'000'000;  // from the end of preparations to the start

// The bound that the kernel's NTP state gives; nothing where no client keeps the clock.
std::optional<double> clock_error() {
  timex state{};
  if (ntp_adjtime(&state) == TIME_ERROR || (state.status & STA_UNSYNC) != 0) return std::nullopt;
  return static_cast<double>(state.maxerror) * 1e-6;
}

// On a busy machine a thread that sleeps until 12.000 s runs at 12.010 s. While this lives, the
// calling thread runs when it wakes up, if this process may ask for that (root, CAP_SYS_NICE);
// threads and programs that it starts do not inherit it.
class Punctual {
 public:
  explicit Punctual(bool wanted) {
    policy_ = sched_getscheduler(0);
    sched_param lowest{};
    lowest.sched_priority = sched_get_priority_min(SCHED_FIFO);
    changed_ = wanted && policy_ == SCHED_OTHER && sched_getparam(0, &before_) == 0 &&
               sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0;
  }
  ~Punctual() {
    if (changed_) sched_setscheduler(0, policy_, &before_);
  }
  Punctual(const Punctual&) = delete;
  Punctual& operator=(const Punctual&) = delete;

 private:
  int policy_ = SCHED_OTHER;
  sched_param before_{};
  bool changed_ = false;
};

class Generator {
 public:
  Generator(const LoadOptions& options, const Endpoint& endpoint, Client& client,
            std::vector<std::int64_t> times, const OnLoadProgress& progress)
      : options_(options),
        endpoint_(endpoint),
        client_(client),
        judge_(endpoint),
        times_(std::move(times)),
        progress_(progress) {}

  std::optional<Error> warm_up();
  LoadRun run();

 private:
  bool closed() const { return options_.arrivals == Arrivals::closed; }
  void watch_warm_up(const std::shared_ptr<bool>& done);
  void begin();
  void send_due();
  void send_query();
  void ask_again(bool failed);
  void send(std::int64_t scheduled_ns, std::uint64_t query);
  void answered(std::size_t place, Reply reply);
  void record(std::size_t place, const Outcome& outcome);
  void count_over(const LoadRequest& request);
  void tick();
  bool all_sent() const;
  void stop_early();
  std::uint64_t over_now() const;
  Request request_for(std::uint64_t index) const;
  std::int64_t since_start() const { return base::monotonic_ns() - start_ns_; }
  std::int64_t limit_ns() const { return static_cast<std::int64_t>(options_.http.timeout_s * 1e9); }
  std::int64_t patience_ns() const;
  std::uint64_t own_requests() const;
  LoadRun result();

  const LoadOptions& options_;
  const Endpoint& endpoint_;
  Client& client_;
  LoadJudge judge_;
  const std::vector<std::int64_t> times_;
  const OnLoadProgress& progress_;
  std::int64_t start_ns_ = 0, start_unix_ns_ = 0;
  std::size_t next_ = 0;  // arrival
  std::vector<LoadRequest> requests_;
  std::vector<bool> cancelled_;
  std::set<std::size_t> under_way_;
  std::map<std::uint64_t, std::size_t> open_queries_;
  std::map<FailureClass, std::string> examples_;
  std::uint64_t queries_ = 0, failed_ = 0, over_ = 0;
  bool begun_ = false, ending_ = false, interrupted_ = false, gave_up_ = false;
  bool cold_ = false;  // no warm-up request got a good answer
};

Request Generator::request_for(std::uint64_t index) const {
  Request request;
  request.iteration = index;
  request.params = options_.params;
  if (!options_.prompts.empty()) request.prompt = options_.prompts[index % options_.prompts.size()];
  request.seed = static_cast<std::int64_t>(options_.seed + index);
  return request;
}

std::optional<Error> Generator::warm_up() {
  std::string failure;
  FailureClass kind = FailureClass::http_error;
  bool good = options_.warmup == 0;
  for (std::uint64_t i = 0; i < options_.warmup && !interrupted_; ++i) {
    Result<Outgoing> outgoing = endpoint_.request(request_for(kWarmUp + i));
    if (!outgoing) return outgoing.error();
    const auto done = std::make_shared<bool>(false);
    converse(client_, endpoint_, *std::move(outgoing), base::monotonic_ns() + limit_ns(),
             [&, done](const Reply& reply) {
               const Outcome outcome = judge(endpoint_, reply, false);
               good = good || !outcome.failure;
               if (outcome.failure) {
                 failure = outcome.failure->detail;
                 kind = outcome.failure->kind;
               }
               *done = true;
               client_.stop();
             });
    watch_warm_up(done);
    client_.run();
  }
  cold_ = !good;
  if (cold_) examples_[kind] = "the warm-up: " + failure;
  return std::nullopt;
}

// The last look may come after the answer, in a later run() of the client.
void Generator::watch_warm_up(const std::shared_ptr<bool>& done) {
  if (*done) return;
  LoadProgress now;
  now.phase = "warming up";
  if (cancelled() || (progress_ && !progress_(now))) {
    interrupted_ = true;
    return client_.cancel();
  }
  client_.at(base::monotonic_ns() + kTick, [this, done] { watch_warm_up(done); });
}

std::uint64_t Generator::own_requests() const {
  if (!options_.requests) return std::numeric_limits<std::uint64_t>::max();
  return *options_.requests / options_.generators +
         (options_.generator - 1 < *options_.requests % options_.generators ? 1 : 0);
}

bool Generator::all_sent() const {
  if (ending_) return true;
  if (!closed()) return next_ >= times_.size();
  if (requests_.size() >= own_requests()) return true;
  return options_.duration_s && static_cast<double>(since_start()) * 1e-9 >= *options_.duration_s;
}

void Generator::begin() {
  begun_ = true;
  if (!closed()) return send_due();
  for (std::size_t i = 0; i < options_.concurrency && !all_sent(); ++i) send_query();
}

void Generator::send_due() {
  if (ending_) return;
  const std::int64_t now = since_start();
  while (next_ < times_.size() && times_[next_] <= now) {
    send(times_[next_], next_);
    ++next_;
  }
  if (next_ < times_.size()) client_.at(start_ns_ + times_[next_], [this] { send_due(); });
}

// In a closed loop a request is due when its user is free.
void Generator::send_query() {
  const std::uint64_t query = queries_++;
  const std::int64_t now = since_start();
  open_queries_[query] = options_.samples_per_query;
  for (std::size_t i = 0; i < options_.samples_per_query; ++i) send(now, query);
}

// A user who got an error waits a little: a server that is gone is not asked a million times.
void Generator::ask_again(bool failed) {
  if (all_sent()) return;
  if (!failed) return send_query();
  client_.at(base::monotonic_ns() + kAfterError, [this] {
    if (!all_sent()) send_query();
  });
}

void Generator::send(std::int64_t scheduled_ns, std::uint64_t query) {
  const std::size_t place = requests_.size();
  LoadRequest request;
  request.index = place * options_.generators + (options_.generator - 1);
  request.scheduled_ns = scheduled_ns;
  request.query = query;
  requests_.push_back(request);
  cancelled_.push_back(false);
  under_way_.insert(under_way_.end(), place);
  Result<Outgoing> outgoing = endpoint_.request(request_for(request.index));
  if (!outgoing) {  // open() has tried one, so only a strange prompt gets here
    Reply reply;
    reply.began_ns = reply.done_ns = base::monotonic_ns();
    reply.failure = Failure{FailureClass::bad_output, outgoing.error().message};
    return client_.post([this, place, reply]() mutable { answered(place, std::move(reply)); });
  }
  converse(client_, endpoint_, *std::move(outgoing), start_ns_ + scheduled_ns + patience_ns(),
           [this, place](Reply reply) { answered(place, std::move(reply)); });
}

// From the arrival on. Of all that are sent at once most wait for a connection first.
std::int64_t Generator::patience_ns() const {
  if (options_.arrivals != Arrivals::at_once) return limit_ns();
  const std::size_t turns = 1 + times_.size() / client_.most_connections();
  return static_cast<std::int64_t>(turns) *
         std::min(limit_ns(), std::int64_t{86'400} * 1'000'000'000);
}

void Generator::answered(std::size_t place, Reply reply) {
  LoadRequest& request = requests_[place];
  const auto since = [&](std::int64_t ns) { return ns == 0 ? -1 : ns - start_ns_; };
  request.began_ns = since(reply.began_ns);
  request.sent_ns = since(reply.sent_ns);
  request.first_byte_ns = since(reply.first_byte_ns);
  request.done_ns = since(reply.done_ns);
  request.status = reply.status;
  request.bytes = reply.bytes;
  under_way_.erase(place);
  if (reply.failure && reply.failure->kind == FailureClass::cancelled) {
    cancelled_[place] = true;
  } else if (!judge_.take(place, reply)) {
    record(place, judge(endpoint_, reply, false));
  }
  count_over(requests_[place]);
  if (closed()) {
    const auto query = open_queries_.find(requests_[place].query);
    if (query != open_queries_.end() && --query->second == 0) {
      open_queries_.erase(query);
      ask_again(requests_[place].failure.has_value());
    }
  }
  if (under_way_.empty() && all_sent()) client_.stop();
}

void Generator::record(std::size_t place, const Outcome& outcome) {
  LoadRequest& request = requests_[place];
  const auto metric = [&](const char* name, float& value) {
    const auto found = outcome.metrics.find(name);
    if (found != outcome.metrics.end()) value = static_cast<float>(found->second);
  };
  metric("ttft_s", request.ttft_s);
  metric("tpot_s", request.tpot_s);
  metric("tokens", request.tokens);
  metric("poll_error_s", request.poll_error_s);
  if (!outcome.failure) return;
  request.failure = outcome.failure->kind;
  ++failed_;
  examples_.try_emplace(outcome.failure->kind, outcome.failure->detail);
}

void Generator::count_over(const LoadRequest& request) {
  if (!options_.slo) return;
  const double latency = static_cast<double>(request.done_ns - request.scheduled_ns) * 1e-9;
  if (request.failure || latency > options_.slo->latency_s) ++over_;
}

// With those that wait for an answer longer than the SLO already.
std::uint64_t Generator::over_now() const {
  const std::int64_t now = since_start();
  std::uint64_t late = over_;
  for (const std::size_t place : under_way_) {
    const double waited = static_cast<double>(now - requests_[place].scheduled_ns) * 1e-9;
    if (waited <= options_.slo->latency_s) break;  // in the order of arrival
    ++late;
  }
  return late;
}

void Generator::tick() {
  if (progress_) {
    LoadProgress now;
    now.elapsed_s = std::max(0.0, static_cast<double>(since_start()) * 1e-9);
    now.total_s = options_.duration_s;
    if (!closed() && !times_.empty()) now.total_s = static_cast<double>(times_.back()) * 1e-9;
    now.sent = requests_.size();
    now.answered = requests_.size() - under_way_.size();
    now.failed = failed_;
    now.phase = !begun_ ? "waiting to start" : all_sent() ? "last answers" : "running";
    if (!progress_(now)) interrupted_ = true;
  }
  interrupted_ = interrupted_ || cancelled();
  gave_up_ = options_.give_up_over && options_.slo && over_now() > *options_.give_up_over;
  if (interrupted_ || gave_up_) return stop_early();
  if (begun_ && all_sent() && under_way_.empty()) return client_.stop();
  client_.at(base::monotonic_ns() + kTick, [this] { tick(); });
}

void Generator::stop_early() {
  ending_ = true;
  client_.cancel();
  if (under_way_.empty()) client_.stop();
}

LoadRun Generator::run() {
  if (interrupted_ || cold_) return result();
  std::size_t expected = times_.size();
  if (closed() && options_.requests) expected = std::min<std::uint64_t>(own_requests(), 1u << 20);
  requests_.reserve(expected);
  start_ns_ = base::monotonic_ns() + kSoon;
  const std::int64_t behind = base::realtime_ns() - base::monotonic_ns();
  if (options_.start_at_unix_ns) {
    start_ns_ = std::max(start_ns_, *options_.start_at_unix_ns - behind);
  }
  start_unix_ns_ = start_ns_ + behind;
  client_.at(start_ns_, [this] { begin(); });
  tick();
  {
    // A request takes some 30 us: at higher rates, or in a closed loop, we would take the CPU away
    // from a server on the same machine.
    const Punctual punctual(!closed() && options_.rate / options_.generators <= kPunctualRate);
    client_.run();
  }
  return result();
}

LoadRun Generator::result() {
  for (const auto& [place, outcome] : judge_.finish()) record(place, outcome);
  LoadRun run;
  run.scenario = !options_.scenario.empty() ? options_.scenario : closed() ? "closed" : "open";
  const Address& address = endpoint_.address();
  run.target = (address.tls ? "https://" : "") + address.authority() + address.path();
  run.arrivals = options_.arrivals;
  run.concurrency = options_.concurrency;
  run.samples_per_query = options_.samples_per_query;
  run.rate = options_.rate / options_.generators;
  run.cv = options_.cv;
  run.seed = options_.seed;
  run.generator = options_.generator;
  run.generators = options_.generators;
  run.started_unix_ns = start_unix_ns_;
  run.clock_error_s = clock_error();
  run.interrupted = interrupted_;
  run.gave_up = gave_up_;
  run.most_connections = client_.most_connections();
  for (const auto& [kind, detail] : examples_) {
    run.examples.push_back(fmt::format("{}: {}", name(kind), detail));
  }
  std::int64_t last_arrival = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    last_arrival = std::max(last_arrival, requests_[i].scheduled_ns);
    if (cancelled_[i] || under_way_.contains(i)) {
      ++run.cancelled;
    } else {
      run.requests.push_back(requests_[i]);
    }
  }
  run.window_s = static_cast<double>(last_arrival) * 1e-9;
  const bool whole = !interrupted_ && !gave_up_ && !options_.requests;
  if (whole && options_.duration_s && options_.arrivals != Arrivals::trace) {
    run.window_s = *options_.duration_s;
  }
  return run;
}

}  // namespace

Result<LoadRun> run_load(const LoadOptions& options, const OnLoadProgress& progress) {
  Result<std::vector<std::int64_t>> times = arrival_times(options);
  if (!times) return times.error();
  if (options.arrivals != Arrivals::closed && times->empty()) {
    return Error{ErrorCode::invalid_argument,
                 "no request arrives in this schedule; take a longer duration or a higher rate"};
  }
  if (options.arrivals == Arrivals::closed &&
      (options.concurrency == 0 || options.samples_per_query == 0)) {
    return Error{ErrorCode::invalid_argument, "a closed loop needs a concurrency of at least 1"};
  }
  const Result<Endpoint> endpoint = Endpoint::open(options.http, options.params);
  if (!endpoint) return endpoint.error();
  Result<std::unique_ptr<Client>> client =
      Client::open(endpoint->address(), client_options(options.http));
  if (!client) return client.error();
  Generator generator(options, *endpoint, **client, *std::move(times), progress);
  if (std::optional<Error> cold = generator.warm_up()) return *std::move(cold);
  return generator.run();
}

}  // namespace genscope::bench

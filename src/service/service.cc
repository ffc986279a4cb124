// The way of a request. Each arrow is a call that does not wait; whoever ends a step begins the
// next.
//
//   HTTP thread   take() -> cache hit: answered
//                        -> an equal job: joins it
//                        -> enter() at the admission -> refused: answered 503
//   any thread    admitted() -> model manager -> loaded() -> batcher
//   batcher       run() -> ended() -> answers, cache, and who is admitted next
//   HTTP thread   left(): a client has gone; the last one stops the job where it is
//
// One lock guards jobs and waiters; no other part is called under it but the admission queue, which
// calls nobody. So a decision about a job cannot come before the job is listed.
//
// A job that nobody waits for is withdrawn from the queue, or from the model manager. In the
// batcher it is skipped when its turn comes; while it runs, the engine sees its token.
#include <genscope/service.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "serve/guard.h"
#include "service/answers.h"
#include "service/ask.h"
#include "service/job.h"

namespace genscope::service {
namespace {

using optimize::AdmissionQueue;
using optimize::Failed;
using optimize::Failure;
using optimize::flow_now_ns;
using optimize::Tried;
using serve::HttpReply;
using serve::HttpRequest;
using serve::HttpResponse;

constexpr std::chrono::milliseconds kTick{100};  // between looks for what is overdue in the queue
constexpr const char* kDevice = "engine";

class Running final : public Service {
 public:
  explicit Running(ServiceOptions options)
      : options_(std::move(options)),
        monitor_({.name = options_.name, .slo_seconds = options_.slo_seconds}),
        admission_({.name = options_.name + "/admission",
                    .classes = options_.classes,
                    .concurrency = static_cast<double>(concurrency())}),
        cache_({.capacity_bytes = std::max<std::uint64_t>(options_.cache_bytes, 1)}),
        batcher_([this](std::span<JobPointer* const> jobs) { return run(jobs); },
                 {.name = options_.name + "/batcher",
                  .most = std::max<std::size_t>(options_.batch, 1),
                  .slo_seconds = options_.slo_seconds,
                  .most_waiting = options_.requests}) {}
  ~Running() override { drain(0); }

  Status open();
  std::uint16_t port() const noexcept override { return server_->port(); }
  ServiceStats stats() const override { return {hits_, shared_, abandoned_, bad_}; }
  std::string metrics() const override;
  bool drain(double seconds) override;

 private:
  std::size_t concurrency() const {
    return options_.concurrency > 0 ? options_.concurrency
                                    : std::max<std::size_t>(options_.batch, 1);
  }
  std::optional<HttpResponse> at_once(const HttpRequest& request);
  void take(const HttpRequest& request, HttpReply reply);
  void enter(ServiceAsk ask, optimize::Key key, Waiter waiter);
  void decide(const std::vector<AdmissionQueue::Decided>& decided);
  void admitted(const JobPointer& job);
  void loaded(const JobPointer& job, optimize::LeaseAnswer answer);
  Tried<std::vector<std::string>> run(std::span<JobPointer* const> jobs);
  void ended(const JobPointer& job, Tried<std::string> made);
  void left(const std::weak_ptr<Job>& job, std::uint64_t waiter);
  void watch(const JobPointer& job, std::uint64_t waiter, const std::stop_token& gone);
  void answer(Waiter waiter, HttpResponse response);
  // Under the lock: nobody joins it any more.
  std::vector<Waiter> close(Job& job);
  void forget(const Job& job);
  std::string stats_json() const;

  // Under the lock.
  static void stage(Job& job, const char* name, Job::Where where) {
    genscope::end(job.stage);
    job.stage = name != nullptr ? begin(SpanKind::stage, name, {job.parent}) : Handle();
    job.where = where;
  }

  const ServiceOptions options_;
  const serve::Guard guard_{"", {}};
  RequestMonitor monitor_;
  AdmissionQueue admission_;
  optimize::Cache cache_;
  optimize::ModelManager models_;

  mutable std::mutex mutex_;
  std::map<std::string, JobPointer, std::less<>> by_key_;  // that may be joined
  std::map<std::uint64_t, JobPointer> queued_;             // by their number at the admission
  std::size_t active_ = 0;                                 // jobs that are admitted and not ended
  std::uint64_t next_waiter_ = 1;
  std::atomic<std::uint64_t> hits_{0}, shared_{0}, abandoned_{0}, bad_{0};
  std::atomic<bool> draining_{false};

  optimize::Batcher<JobPointer, std::string> batcher_;
  std::unique_ptr<serve::HttpServer> server_;
  std::jthread ticker_;
};

Status Running::open() {
  constexpr std::uint64_t kNoBudget = std::uint64_t{1} << 60;
  const std::uint64_t budget = options_.budget_bytes > 0 ? options_.budget_bytes : kNoBudget;
  if (Status added = models_.add_device({.name = kDevice, .bytes = budget}); !added) return added;
  for (const ServiceModel& model : options_.models) {
    const auto load = [&model](const optimize::LoadCall&) -> Result<optimize::ModelPointer> {
      Result<std::unique_ptr<ServiceEngine>> made = model.load();
      if (!made) return made.error();
      return optimize::ModelPointer(std::shared_ptr<ServiceEngine>(*std::move(made)));
    };
    const Status added = models_.add({.name = model.name, .bytes = model.bytes}, {.load = load});
    if (!added) return added;
  }
  serve::HttpOptions http{.port = options_.port};
  http.limits.body_bytes = options_.body_bytes;
  http.limits.waiting_later = options_.requests;
  Result<std::unique_ptr<serve::HttpServer>> server = serve::HttpServer::start(
      http, {.answer = {},
             .at_once = [this](const HttpRequest& request) { return at_once(request); },
             .later = [this](const HttpRequest& request,
                             HttpReply reply) { take(request, std::move(reply)); }});
  if (!server) return server.error();
  server_ = *std::move(server);
  ticker_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      never.wait_for(lock, stop, kTick, [] { return false; });
      decide(admission_.expire(flow_now_ns()));
    }
  });
  return Done{};
}

// --- the HTTP thread

std::optional<HttpResponse> Running::at_once(const HttpRequest& request) {
  std::optional<HttpResponse> out;
  if (!guard_.host_is_ours(request.header("host"))) {
    out = plain(421, "this server answers for localhost alone");
  }
  const bool asks = request.method == "GET" || request.method == "HEAD";
  const auto tell = [&](std::string type, std::string body) {
    out = asks ? HttpResponse{.type = std::move(type), .body = std::move(body)}
               : plain(405, "this address takes GET");
  };
  if (out) {
  } else if (request.path == "/metrics") {
    tell("text/plain; version=0.0.4; charset=utf-8", metrics());
  } else if (request.path == "/stats") {
    tell("application/json", stats_json());
  } else if (request.path == "/healthz") {
    tell("text/plain", "ok\n");
  } else if (request.path != "/generate") {
    out = plain(404, "there are /generate, /metrics, /stats and /healthz");
  } else if (request.method != "POST") {
    out = plain(405, "this address takes POST");
  } else if (!request.header("content-type").starts_with("application/json")) {
    // Also what a page of another site cannot send without asking first.
    out = plain(415, "send Content-Type: application/json");
  } else if (draining_) {
    out = busy("the service is closing", std::nullopt);
  }
  if (out) guard_.add_standard_headers(request, *out);
  return out;
}

void Running::take(const HttpRequest& request, HttpReply reply) {
  Result<ServiceAsk> ask = read_ask(options_, request.body);
  if (!ask) {
    ++bad_;
    return answer({.reply = std::move(reply), .request = monitor_.begin("/generate")},
                  plain(ask.error().code == ErrorCode::bad_data ? 400 : 422, ask.error().message));
  }
  optimize::Key key = answer_key(options_, *ask);
  if (options_.cache_bytes > 0) {
    if (const optimize::Value kept = cache_.get(key)) {
      ++hits_;
      return answer({.reply = std::move(reply), .request = monitor_.begin("/generate")},
                    {.type = options_.type,
                     .body = *kept.as<std::string>(),
                     .headers = {{"X-Cache", "hit"}}});
    }
  }
  enter(*std::move(ask), std::move(key), {.reply = std::move(reply), .request = {}});
}

void Running::enter(ServiceAsk ask, optimize::Key key, Waiter waiter) {
  const std::stop_token gone = waiter.reply.gone();
  std::optional<HttpResponse> refusal;
  JobPointer job;
  bool at_once = false;
  std::unique_lock lock(mutex_);
  const std::uint64_t number = waiter.number = next_waiter_++;
  if (const auto known = by_key_.find(key.bytes()); known != by_key_.end()) {
    ++shared_;
    waiter.joined = true;
    job = known->second;
    waiter.request = job->where == Job::Where::queue ? monitor_.enqueue("/generate")
                                                     : monitor_.begin("/generate");
    waiter.shared = begin(SpanKind::stage, "shared", {Handle(waiter.request.span_id())});
    job->waiters.push_back(std::move(waiter));
  } else {
    job = std::make_shared<Job>();
    job->cost = options_.cost ? options_.cost(ask) : 1;
    job->batch = batch_key(options_, ask);
    const std::int64_t now = flow_now_ns();
    job->deadline_ns = now + static_cast<std::int64_t>(ask.deadline_seconds * 1e9);
    std::size_t in_class = 0;
    while (options_.classes[in_class].name != ask.priority) ++in_class;
    waiter.request = monitor_.enqueue("/generate");
    const AdmissionQueue::Entered entered =
        admission_.enter({in_class, job->cost, job->deadline_ns, ask.tenant}, now);
    if (entered.state == AdmissionQueue::State::refused) {
      refusal = busy(words_of(entered.refusal.why), entered.refusal.retry_after_seconds);
    } else {
      job->ask = std::move(ask);
      job->ask.stop = job->stop.get_token();
      job->key = std::move(key);
      job->admission = entered.id;
      job->parent = Handle(waiter.request.span_id());
      job->waiters.push_back(std::move(waiter));
      by_key_.emplace(job->key.bytes(), job);
      at_once = entered.state == AdmissionQueue::State::run;
      if (!at_once) queued_.emplace(entered.id, job);
    }
  }
  lock.unlock();
  if (refusal) return answer(std::move(waiter), *std::move(refusal));
  watch(job, number, gone);
  if (at_once) admitted(job);
}

// left() runs on this thread, too: it cannot come in between.
void Running::watch(const JobPointer& job, std::uint64_t waiter, const std::stop_token& gone) {
  auto leaving = std::make_unique<std::stop_callback<std::function<void()>>>(
      gone, [this, weak = std::weak_ptr<Job>(job), waiter] { left(weak, waiter); });
  const std::lock_guard lock(mutex_);
  for (Waiter& one : job->waiters) {
    if (one.number == waiter) one.leaving.swap(leaving);
  }
}

void Running::left(const std::weak_ptr<Job>& of, std::uint64_t number) {
  const JobPointer job = of.lock();
  if (!job) return;
  std::optional<Waiter> gone;
  std::optional<std::uint64_t> load;
  bool stopped = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(job->waiters.begin(), job->waiters.end(),
                                    [&](const Waiter& one) { return one.number == number; });
    if (found == job->waiters.end()) return;
    ++abandoned_;
    const bool first = found == job->waiters.begin();
    gone = std::move(*found);
    job->waiters.erase(found);
    end(gone->shared);
    if (job->waiters.empty()) {
      forget(*job);
      genscope::end_failed(job->stage);
      job->stage = job->parent = Handle();
      load = job->load;
      if (queued_.erase(job->admission) > 0) admission_.cancel(job->admission);
      stopped = true;
    } else if (first) {  // the stages go on below the next one
      static constexpr const char* kNames[] = {nullptr, "load", "batch", "run", nullptr};
      job->parent = Handle(job->waiters.front().request.span_id());
      stage(*job, kNames[static_cast<std::size_t>(job->where)], job->where);
    }
  }
  gone->request.fail("client_disconnect");
  if (stopped) job->stop.request_stop();
  if (load) models_.cancel(*load);
}

// --- on its way

void Running::decide(const std::vector<AdmissionQueue::Decided>& decided) {
  for (const AdmissionQueue::Decided& one : decided) {
    JobPointer job;
    std::vector<Waiter> refused;
    {
      const std::lock_guard lock(mutex_);
      const auto found = queued_.find(one.id);
      if (found != queued_.end()) {
        job = found->second;
        queued_.erase(found);
        if (!one.run) refused = close(*job);
      }
    }
    for (Waiter& waiter : refused) {
      answer(std::move(waiter), busy(words_of(one.refusal.why), one.refusal.retry_after_seconds));
    }
    if (job && one.run) admitted(job);
    if (!job && one.run) decide(admission_.finished(one.id, false, flow_now_ns()));
  }
}

void Running::admitted(const JobPointer& job) {
  {
    const std::lock_guard lock(mutex_);
    ++active_;
    for (Waiter& waiter : job->waiters) waiter.request.started();
    stage(*job, "load", Job::Where::load);
  }
  // Its answer may come before the number.
  const std::uint64_t number = models_.lease(
      job->ask.model, {.timeout_ns = std::max<std::int64_t>(1, job->deadline_ns - flow_now_ns())},
      [this, job](optimize::LeaseAnswer answer) { loaded(job, std::move(answer)); });
  bool stopped = false;
  {
    const std::lock_guard lock(mutex_);
    if (job->where == Job::Where::load) job->load = number;
    stopped = job->stop.stop_requested();
  }
  if (stopped) models_.cancel(number);
}

void Running::loaded(const JobPointer& job, optimize::LeaseAnswer answer) {
  {
    const std::lock_guard lock(mutex_);
    job->load.reset();
    job->lease = std::move(answer.lease);
    stage(*job, "batch", Job::Where::batch);
  }
  if (!job->lease) {
    Failure kind = Failure::transient;
    if (answer.refusal == optimize::LeaseRefusal::deadline) kind = Failure::timeout;
    if (answer.refusal == optimize::LeaseRefusal::no_room) kind = Failure::out_of_memory;
    if (answer.refusal == optimize::LeaseRefusal::closed) kind = Failure::rejected;
    if (answer.refusal == optimize::LeaseRefusal::cancelled) kind = Failure::cancelled;
    return ended(job, Failed{kind, "no model: " + answer.error.message, std::nullopt});
  }
  batcher_.submit(job->batch, job,
                  {.cost = job->cost, .deadline_ns = job->deadline_ns, .stop = job->ask.stop},
                  [this, job](Tried<std::string> made) { ended(job, std::move(made)); });
}

Tried<std::vector<std::string>> Running::run(std::span<JobPointer* const> jobs) {
  std::vector<const ServiceAsk*> asks;
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t now = flow_now_ns();
    for (JobPointer* const job : jobs) {
      asks.push_back(&(*job)->ask);
      if ((*job)->waiters.empty()) continue;
      (*job)->began_ns = now;
      stage(**job, "run", Job::Where::run);
    }
  }
  optimize::ModelLease& lease = (*jobs.front())->lease;
  auto& engine = lease.get<ServiceEngine>();
  ServiceEngine::Answers made = engine.run(asks);
  const bool full = !made.ok() && made.failure().kind == Failure::out_of_memory;
  if (full && jobs.size() == 1 && lease.out_of_memory()) made = engine.run(asks);
  const bool wanted = std::any_of(
      asks.begin(), asks.end(), [](const ServiceAsk* ask) { return !ask->stop.stop_requested(); });
  if (!wanted) return Failed{Failure::cancelled, "nobody waits for it", std::nullopt};
  return made;
}

// --- its end

void Running::forget(const Job& job) {
  const auto known = by_key_.find(job.key.bytes());
  if (known != by_key_.end() && known->second.get() == &job) by_key_.erase(known);
}

std::vector<Waiter> Running::close(Job& job) {
  forget(job);
  stage(job, nullptr, Job::Where::ended);
  for (const Waiter& waiter : job.waiters) end(waiter.shared);
  return std::exchange(job.waiters, {});
}

void Running::ended(const JobPointer& job, Tried<std::string> made) {
  const std::int64_t now = flow_now_ns();
  const bool unwanted = job->stop.stop_requested();  // its answer may be half of one
  if (made.ok() && !unwanted && options_.cache_bytes > 0) {
    const std::string& bytes = made.value();
    const double seconds = static_cast<double>(now - job->began_ns) * 1e-9;
    cache_.put(job->key, optimize::Value::of(bytes, bytes.size() + 1), {.cost_s = seconds});
  }
  std::vector<Waiter> waiters;
  {
    const std::lock_guard lock(mutex_);
    waiters = close(*job);
    --active_;
  }
  job->lease.release();
  for (Waiter& waiter : waiters) {
    const char* const from = waiter.joined ? "shared" : "miss";
    answer(std::move(waiter), made.ok() ? HttpResponse{.type = options_.type,
                                                       .body = made.value(),
                                                       .headers = {{"X-Cache", from}}}
                                        : answer_of(made.failure()));
  }
  const bool late = !made.ok() && (made.failure().kind == Failure::timeout ||
                                   made.failure().kind == Failure::out_of_memory);
  decide(admission_.finished(job->admission, made.ok() && !unwanted, now, late));
}

void Running::answer(Waiter waiter, HttpResponse response) {
  const int status = response.status;
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  for (auto& header : monitor_.response_headers(waiter.request)) {
    response.headers.push_back(std::move(header));
  }
  waiter.request.first_byte();
  waiter.reply.send(std::move(response));
  waiter.request.finish(status);
}

bool Running::drain(double seconds) {
  draining_ = true;
  decide(admission_.close());
  bool whole = true;
  if (server_) {
    const std::uint64_t left_before = stats().abandoned;
    server_->stop(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3)));
    // A job whose client was cut off may have ended by now; the client has no answer all the same.
    whole = stats().abandoned == left_before;
    const std::lock_guard lock(mutex_);
    whole = whole && active_ == 0;
  }
  models_.close();  // who waits for a model is answered; what is leased goes on
  batcher_.drain();
  ticker_.request_stop();
  return whole;
}

// --- figures

std::string Running::metrics() const {
  return monitor_.prometheus_text() +
         prometheus_text(admission_.stats(flow_now_ns()), admission_.options().name) +
         batcher_.prometheus_text() + prometheus_text(stats(), options_.name);
}

std::string Running::stats_json() const {
  return to_json({monitor_.stats(), admission_.stats(flow_now_ns()), batcher_.queue().stats(),
                  models_.stats(), stats(), cache_.size()});
}

}  // namespace
}  // namespace genscope::service

namespace genscope {

Result<std::unique_ptr<Service>> Service::start(ServiceOptions options) {
  if (const Status usable = service::check(options); !usable) return usable.error();
  auto service = std::make_unique<service::Running>(std::move(options));
  if (const Status opened = service->open(); !opened) return opened.error();
  return std::unique_ptr<Service>(std::move(service));
}

}  // namespace genscope

// A lane is a limiter and as many threads as it has units. The limiter decides who is next and
// grants the unit; only then does the body go to the threads, so one of them is always free for it.
// The unit comes back after the body has returned, whoever still waits for it.
#include <genscope/internal/optimize/async/lane.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <genscope/record.h>

#include "base/clock.h"

namespace genscope::optimize {
namespace internal {

const char* lasting(std::string_view text) {
  static std::mutex mutex;
  static auto* const all = new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  auto found = all->find(text);
  if (found == all->end()) found = all->emplace(text).first;
  return found->c_str();
}

}  // namespace internal

namespace {

struct LaneJob {
  LaneJob(const Context& under, Lane::Body what, Lane::Ended then)
      : context(under), body(std::move(what)), ended(std::move(then)) {}
  Context context;
  Lane::Body body;
  Lane::Ended ended;
  Permit permit;
  Handle queued;
};

}  // namespace

struct Lane::State {
  State(std::string called, const LaneOptions& with)
      : name(std::move(called)),
        options(with),
        limiter(static_cast<std::int64_t>(std::max<std::size_t>(1, with.width)),
                {with.aging, with.max_waiting}) {}

  Track track() {
    const std::lock_guard lock(mutex);
    if (made_track.id() == 0) made_track = Track("lane " + name);
    return made_track;
  }

  void granted(std::shared_ptr<LaneJob> job, WaitResult outcome, Permit permit) {
    if (outcome != WaitResult::ok) {
      end_failed(job->queued);
      job->body.reset();
      over(*job, outcome);
      return;
    }
    job->permit = std::move(permit);
    const std::lock_guard lock(mutex);
    ready.push_back(std::move(job));
    more.notify_one();
  }

  // Tells the caller; after that nothing of the lane is touched for this job.
  void over(LaneJob& job, WaitResult outcome) {
    if (job.ended) job.ended(outcome);
    const std::lock_guard lock(mutex);
    if (--open == 0) emptied.notify_all();
  }

  void run(LaneJob& job) {
    end(job.queued);
    Handle span;
    if (job.queued) {
      span = begin(SpanKind::task, "lane_run", {Handle(job.context.trace()), track()});
    }
    const std::int64_t began = base::monotonic_ns();
    job.body();
    const auto took = static_cast<std::uint64_t>(base::monotonic_ns() - began);
    end(span);
    job.body.reset();
    {
      const std::lock_guard lock(mutex);
      --running;
      ++finished;
      run_ns += took;
    }
    job.permit.release();
    over(job, WaitResult::ok);
  }

  void loop() {
    genscope::name_thread(name);
    std::unique_lock lock(mutex);
    while (true) {
      more.wait(lock, [this] { return !ready.empty() || ending; });
      if (ready.empty()) return;
      const std::shared_ptr<LaneJob> job = std::move(ready.front());
      ready.pop_front();
      ++running;
      lock.unlock();
      run(*job);
      lock.lock();
    }
  }

  const std::string name;
  const LaneOptions options;
  Limiter limiter;
  mutable std::mutex mutex;
  std::condition_variable more, emptied;
  std::deque<std::shared_ptr<LaneJob>> ready;
  std::size_t open = 0, running = 0;
  std::uint64_t finished = 0, run_ns = 0;
  bool ending = false;
  Track made_track;
  std::vector<std::thread> threads;
};

Lane::Lane(std::string name, const LaneOptions& options)
    : state_(std::make_unique<State>(std::move(name), options)) {
  for (std::size_t i = 0; i < width(); ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->loop(); });
  }
}

Lane::~Lane() {
  {
    std::unique_lock lock(state_->mutex);
    state_->emptied.wait(lock, [this] { return state_->open == 0; });
    state_->ending = true;
    state_->more.notify_all();
  }
  for (std::thread& thread : state_->threads) thread.join();
}

void Lane::post(const Context& context, Body body, Ended ended, double cost) {
  auto job = std::make_shared<LaneJob>(context, std::move(body), std::move(ended));
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->open;
  }
  if (genscope::internal::g_mode.load(std::memory_order_relaxed) != 0) {
    const Context& under = job->context;
    job->queued = begin(SpanKind::task, "lane_queue", {Handle(under.trace()), state_->track()},
                        {{"priority", under.priority()}, {"tenant", under.tenant()}});
  }
  State* const state = state_.get();
  state->limiter.acquire(context, {1, cost},
                         [state, job](WaitResult outcome, Permit permit) mutable {
                           state->granted(std::move(job), outcome, std::move(permit));
                         });
}

WaitResult Lane::run_blocking(const Context& context, Body body, double cost) {
  std::mutex mutex;
  std::condition_variable came;
  std::optional<WaitResult> result;
  post(
      context, std::move(body),
      [&](WaitResult outcome) {
        const std::lock_guard lock(mutex);
        result = outcome;
        came.notify_one();
      },
      cost);
  std::unique_lock lock(mutex);
  came.wait(lock, [&] { return result.has_value(); });
  return *result;
}

Limiter::Awaiter Lane::enter(double cost) noexcept { return state_->limiter.acquire({1, cost}); }
std::string_view Lane::name() const noexcept { return state_->name; }
std::size_t Lane::width() const noexcept { return std::max<std::size_t>(1, state_->options.width); }
Limiter& Lane::limiter() noexcept { return state_->limiter; }

LaneStats Lane::stats() const {
  LaneStats stats;
  stats.queue = state_->limiter.stats();
  const std::lock_guard lock(state_->mutex);
  stats.running = state_->running;
  stats.finished = state_->finished;
  stats.run_ns = state_->run_ns;
  return stats;
}

}  // namespace genscope::optimize

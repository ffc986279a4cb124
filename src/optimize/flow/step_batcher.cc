// The loop: boundary, begin who joins, step, finish who is done. The queue is shared with who
// submits, under a lock; what runs belongs to the loop's thread alone.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>

#include <genscope/optimize/step_batch.h>
#include <genscope/record.h>

#include "optimize/flow/counters.h"
#include "optimize/flow/step_queue.h"

namespace genscope::optimize::internal {

struct StepCore::State {
  State(Step given, StepOptions options)
      : step(std::move(given)), shown_size(options.name, "step_size"), queue(std::move(options)) {}

  struct Held {
    std::unique_ptr<StepItem> item;
    std::stop_token stop;
  };
  struct Running {
    std::uint64_t id = 0;
    Held held;
  };

  // What user code throws becomes a failure.
  template <class Call>
  static std::optional<Failed> caught(Call&& call) noexcept {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      return Failed{Failure::out_of_memory, "it ran out of memory", std::nullopt};
    } catch (const std::exception& e) {
      return Failed{Failure::transient, e.what(), std::nullopt};
    } catch (...) {
      return Failed{Failure::transient, "the engine threw", std::nullopt};
    }
  }
  static void fail(Held& held, const Failed& failure) noexcept {
    caught([&]() -> std::optional<Failed> {
      held.item->fail(failure);
      return std::nullopt;
    });
  }

  Held take(std::uint64_t id) {  // under the lock
    const auto found = items.find(id);
    Held out = std::move(found->second);
    items.erase(found);
    return out;
  }

  // Who leaves between two steps, with the reason.
  void leave(std::size_t at, const Failed* failure) {
    {
      const std::lock_guard lock(mutex);
      queue.ended(running[at].id);
    }
    Held held = std::move(running[at].held);
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
    if (failure != nullptr) return fail(held, *failure);
    const std::optional<Failed> wrong = caught([&]() -> std::optional<Failed> {
      held.item->answer();
      return std::nullopt;
    });
    if (wrong) fail(held, *wrong);
  }

  // False: it is over.
  bool join() {
    std::vector<Running> joining;
    std::vector<Held> expired, dropped;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !running.empty() || queue.waiting() > 0 || closed; });
      if (cancelling) {
        for (auto& [id, held] : items) {
          queue.ended(id);
          dropped.push_back(std::move(held));
        }
        items.clear();
      }
      const StepQueue::Boundary now = queue.boundary(flow_now_ns());
      for (const std::uint64_t id : now.expired) expired.push_back(take(id));
      for (const std::uint64_t id : now.join) joining.push_back({id, take(id)});
      if (closed && running.empty() && joining.empty() && queue.waiting() == 0) ending = true;
    }
    for (Held& held : dropped) {
      fail(held, {Failure::cancelled, "the batcher was closed", std::nullopt});
    }
    for (Held& held : expired) {
      fail(held, {Failure::timeout, "the deadline passed before it began", std::nullopt});
    }
    for (Running& one : joining) {
      running.push_back(std::move(one));
      const std::optional<Failed> wrong = caught([&] { return running.back().held.item->begin(); });
      if (wrong) leave(running.size() - 1, &*wrong);
    }
    return !ending;
  }

  void drop_stopped() {
    const Failed gone{Failure::cancelled, "cancelled", std::nullopt};
    for (std::size_t i = running.size(); i-- > 0;) {
      if (running[i].held.stop.stop_requested()) leave(i, &gone);
    }
  }

  void run_step() {
    std::vector<StepItem*> pointers;
    for (const Running& one : running) pointers.push_back(one.held.item.get());
    shown_size.set(static_cast<double>(pointers.size()));
    const std::int64_t from = flow_now_ns();
    const Handle span = begin(SpanKind::batch, "step_batch", {}, {{"size", pointers.size()}});
    const std::optional<Failed> wrong =
        caught([&] { return step(std::span<StepItem* const>(pointers)); });
    wrong ? end_failed(span) : end(span);
    step_count += 1;
    request_count += pointers.size();
    if (wrong) return step_failed(*wrong);
    const double seconds = ns_to_seconds(flow_now_ns() - from);
    std::vector<std::size_t> done;
    {
      const std::lock_guard lock(mutex);
      queue.stepped(seconds);
      for (std::size_t i = 0; i < running.size(); ++i) {
        const std::size_t left = running[i].held.item->left();
        queue.left(running[i].id, left);
        if (left == 0) done.push_back(i);
      }
    }
    for (std::size_t i = done.size(); i-- > 0;) leave(done[i], nullptr);
  }

  void step_failed(const Failed& failure) {
    if (running.size() == 1) return leave(0, &failure);
    const std::lock_guard lock(mutex);
    queue.failed(failure.kind == Failure::out_of_memory);
    for (Running& one : running) items.emplace(one.id, std::move(one.held));
    running.clear();
  }

  void loop() {
    name_thread("steps");
    while (join()) {
      drop_stopped();
      if (!running.empty()) run_step();
    }
  }

  const Step step;
  const FlowCounter shown_size;
  std::mutex mutex;
  std::condition_variable changed;
  StepQueue queue;
  std::unordered_map<std::uint64_t, Held> items;  // that wait
  std::vector<Running> running;                   // of the loop's thread
  bool closed = false, cancelling = false, ending = false;
  std::atomic<std::uint64_t> step_count{0}, request_count{0};
  std::mutex joining_thread;
  std::thread thread;
};

StepCore::StepCore(Step step, StepOptions options)
    : state_(std::make_unique<State>(std::move(step), std::move(options))) {
  state_->thread = std::thread([state = state_.get()] { state->loop(); });
}

StepCore::~StepCore() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->cancelling = true;
  }
  drain();
}

void StepCore::submit(std::string_view key, const SubmitOptions& options,
                      std::unique_ptr<StepItem> item) {
  State& s = *state_;
  {
    const std::lock_guard lock(s.mutex);
    const auto id = s.closed ? std::nullopt : s.queue.push(key, options.deadline_ns, flow_now_ns());
    if (id) {
      s.items.emplace(*id, State::Held{std::move(item), options.stop});
      s.changed.notify_all();
      return;
    }
  }
  item->fail({Failure::rejected, "the batcher is closed, or too many requests wait", std::nullopt});
}

void StepCore::drain() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
    state_->changed.notify_all();
  }
  const std::lock_guard lock(state_->joining_thread);
  if (state_->thread.joinable()) state_->thread.join();
}

std::uint64_t StepCore::steps() const noexcept { return state_->step_count; }
std::uint64_t StepCore::requests_in_steps() const noexcept { return state_->request_count; }

}  // namespace genscope::optimize::internal

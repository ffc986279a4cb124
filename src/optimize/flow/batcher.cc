// A thread that takes batches, runs them and answers. Items are owned here, by id; whoever takes
// one out of the map answers it, so each is answered once.
#include <exception>
#include <new>

#include <genscope/optimize/batch.h>
#include <genscope/record.h>

#include "optimize/flow/counters.h"

namespace genscope::optimize::internal {

struct BatcherCore::State {
  State(Run given, BatchOptions options) : run(std::move(given)), queue(std::move(options)) {}

  struct Held {
    std::unique_ptr<BatchItem> item;
    std::stop_token stop;
  };

  std::unique_ptr<BatchItem> take_item(std::uint64_t id) {
    const std::lock_guard lock(mutex);
    const auto found = items.find(id);
    if (found == items.end()) return nullptr;
    std::unique_ptr<BatchItem> item = std::move(found->second.item);
    items.erase(found);
    return item;
  }

  // What an answer throws is its own affair: the next one must still be given.
  void fail(std::uint64_t id, const Failed& failure) noexcept {
    try {
      if (const auto item = take_item(id)) item->fail(failure);
    } catch (...) {
    }
  }
  void answer(std::uint64_t id) noexcept {
    try {
      if (const auto item = take_item(id)) item->answer();
    } catch (...) {
    }
  }

  std::optional<Failed> run_caught(std::span<BatchItem* const> batch) noexcept {
    try {
      return run(batch);
    } catch (const std::bad_alloc&) {
      return Failed{Failure::out_of_memory, "the batch function ran out of memory", std::nullopt};
    } catch (const std::exception& e) {
      return Failed{Failure::transient, e.what(), std::nullopt};
    } catch (...) {
      return Failed{Failure::transient, "the batch function threw", std::nullopt};
    }
  }

  void run_batch(const std::vector<std::uint64_t>& batch) {
    std::vector<std::uint64_t> wanted, stopped;
    std::vector<BatchItem*> pointers;
    {
      const std::lock_guard lock(mutex);
      for (const std::uint64_t id : batch) {
        const Held& held = items.at(id);
        if (held.stop.stop_requested()) {
          stopped.push_back(id);
        } else {
          wanted.push_back(id);
          pointers.push_back(held.item.get());
        }
      }
    }
    if (!stopped.empty()) {
      const Failed gone{Failure::cancelled, "cancelled before it began", std::nullopt};
      queue.finish(stopped, &gone, 0, flow_now_ns());
      for (const std::uint64_t id : stopped) fail(id, gone);
    }
    if (wanted.empty()) return;
    const std::int64_t from = flow_now_ns();
    std::optional<Failed> failure;
    {
      const Handle span = begin(SpanKind::batch, "batch", {}, {{"size", wanted.size()}});
      failure = run_caught(pointers);
      if (failure)
        end_failed(span);
      else
        end(span);
    }
    const std::int64_t to = flow_now_ns();
    const BatchQueue::Finish done =
        queue.finish(wanted, failure ? &*failure : nullptr, ns_to_seconds(to - from), to);
    if (!failure) {
      for (const std::uint64_t id : wanted) answer(id);
    }
    for (const std::uint64_t id : done.failed) fail(id, *failure);
  }

  void cancel_waiting() {
    const Failed gone{Failure::cancelled, "the batcher was closed", std::nullopt};
    for (const std::uint64_t id : queue.cancel_all()) fail(id, gone);
  }

  void loop() {
    name_thread("batcher");
    const Failed late{Failure::timeout, "the deadline passed before it began", std::nullopt};
    for (;;) {
      if (stopping.load()) cancel_waiting();
      const BatchQueue::Take taken = queue.take_waiting();
      for (const std::uint64_t id : taken.expired) fail(id, late);
      if (!taken.batch.empty()) run_batch(taken.batch);
      if (taken.closed) return;
    }
  }

  Run run;
  BatchQueue queue;
  std::mutex mutex;  // around push and the map together: the worker may take at once
  std::unordered_map<std::uint64_t, Held> items;
  std::atomic<bool> stopping = false;
  std::mutex ending;
  std::thread thread;
};

BatcherCore::BatcherCore(Run run, BatchOptions options)
    : state_(std::make_unique<State>(std::move(run), std::move(options))) {
  state_->thread = std::thread([state = state_.get()] { state->loop(); });
}

BatcherCore::~BatcherCore() {
  state_->stopping.store(true);
  state_->cancel_waiting();
  drain();
}

void BatcherCore::submit(std::string_view key, const SubmitOptions& options,
                         std::unique_ptr<BatchItem> item) {
  State& s = *state_;
  {
    const std::lock_guard lock(s.mutex);
    const auto id = s.queue.push(key, options.cost, options.deadline_ns, flow_now_ns());
    if (id) {
      s.items.emplace(*id, State::Held{std::move(item), options.stop});
      return;
    }
  }
  item->fail({Failure::rejected, "the batcher is closed, or too many requests wait", std::nullopt});
}

void BatcherCore::drain() {
  State& s = *state_;
  s.queue.close();
  const std::lock_guard lock(s.ending);
  if (s.thread.joinable()) s.thread.join();
}

BatchQueue& BatcherCore::queue() const noexcept { return state_->queue; }

}  // namespace genscope::optimize::internal

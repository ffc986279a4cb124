// The pool. Each worker's queue is a list under a lock of its own, which is nearly always free: a
// hop costs two uncontended locks and no wake-up, because a worker that yields takes the work again
// itself.
//
// No wake-up is lost: a worker that goes to sleep first says so (`searching`, `sleepers`), then
// looks at every queue under its lock. Work that was queued before that look is seen by it; who
// queues later takes the same lock after it and so sees the announcement, and wakes. One worker at
// most searches on behalf of a wake-up; when it finds work and leaves some, it wakes the next.
#include <genscope/internal/optimize/async/pool.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <genscope/record.h>

namespace genscope::optimize {
namespace {

struct WorkQueue {
  void push(Work& work) noexcept {
    work.next = nullptr;
    (last != nullptr ? last->next : first) = &work;
    last = &work;
    ++size;
  }
  Work* pop() noexcept {
    Work* const work = first;
    if (work == nullptr) return nullptr;
    first = work->next;
    if (first == nullptr) last = nullptr;
    --size;
    return work;
  }
  Work *first = nullptr, *last = nullptr;
  std::size_t size = 0;
};

struct alignas(128) Worker {
  std::mutex mutex;
  WorkQueue queue;
};

constinit thread_local Worker* t_worker = nullptr;

void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct Pool::State {
  State(std::size_t count, std::string called) : workers(count), name(std::move(called)) {}

  void wake_one() noexcept {
    const std::lock_guard lock(sleep);
    if (wakes < sleeping) {
      searching.store(true, std::memory_order_relaxed);
      ++wakes;
      wake.notify_one();
    }
  }
  bool may_wake() const noexcept {
    return sleepers.load(std::memory_order_relaxed) > 0 &&
           !searching.load(std::memory_order_relaxed);
  }

  static Work* take(Worker& from) noexcept {
    const std::lock_guard lock(from.mutex);
    return from.queue.pop();
  }
  Work* steal(std::size_t index) noexcept {
    for (std::size_t i = 1; i < workers.size(); ++i) {
      if (Work* const work = take(workers[(index + i) % workers.size()])) return work;
    }
    return nullptr;
  }
  Work* find(std::size_t index) noexcept {
    if (Work* const work = take(workers[index])) return work;
    return steal(index);
  }

  // Null: time to end.
  Work* sleep_until_work(std::size_t index) noexcept {
    for (int spin = 0; spin < 64; ++spin) {
      pause_cpu();
      if (spin % 16 != 15) continue;
      if (Work* const work = find(index)) return found(work);
    }
    while (true) {
      searching.store(false, std::memory_order_relaxed);
      sleepers.fetch_add(1, std::memory_order_relaxed);
      {
        std::unique_lock lock(sleep);
        ++sleeping;
      }
      Work* work = find(index);
      {
        std::unique_lock lock(sleep);
        if (work == nullptr) wake.wait(lock, [this] { return wakes > 0 || ending; });
        --sleeping;
        if (wakes > sleeping || (work == nullptr && wakes > 0)) --wakes;
        sleepers.fetch_sub(1, std::memory_order_relaxed);
      }
      if (work == nullptr) work = find(index);
      if (work != nullptr) return found(work);
      if (ending) return nullptr;
    }
  }
  bool any_left() noexcept {
    return std::any_of(workers.begin(), workers.end(), [](Worker& worker) {
      const std::lock_guard lock(worker.mutex);
      return worker.queue.first != nullptr;
    });
  }
  // Who queued while we searched may have relied on us.
  Work* found(Work* work) noexcept {
    searching.store(false, std::memory_order_relaxed);
    if (sleepers.load(std::memory_order_relaxed) > 0 && any_left()) wake_one();
    return work;
  }

  void loop(Pool& pool, std::size_t index) noexcept {
    genscope::name_thread(name);
    const internal::RunningOn here(&pool);
    Worker& own = workers[index];
    t_worker = &own;
    while (true) {
      Work* work = take(own);
      if (work == nullptr) work = steal(index);
      if (work == nullptr) work = sleep_until_work(index);
      if (work == nullptr) return;
      work->run(*work);
    }
  }

  std::vector<Worker> workers;
  const std::string name;
  std::atomic<std::size_t> turn{0};
  std::atomic<std::size_t> sleepers{0};
  std::atomic<bool> searching{false};
  std::mutex sleep;
  std::condition_variable wake;
  std::size_t sleeping = 0, wakes = 0;
  std::atomic<bool> ending{false};
  std::vector<std::thread> threads;
};

Pool::Pool(std::size_t workers, std::string name)
    : state_(std::make_unique<State>(
          workers != 0 ? workers : std::max<std::size_t>(1, std::thread::hardware_concurrency()),
          std::move(name))) {
  for (std::size_t i = 0; i < state_->workers.size(); ++i) {
    state_->threads.emplace_back([this, i] { state_->loop(*this, i); });
  }
}

Pool::~Pool() {
  {
    const std::lock_guard lock(state_->sleep);
    state_->ending = true;
    state_->wake.notify_all();
  }
  for (std::thread& thread : state_->threads) thread.join();
}

void Pool::submit(Work& work, bool yielding) noexcept {
  State& state = *state_;
  const bool inside = current_executor() == this && t_worker != nullptr;
  Worker& to =
      inside
          ? *t_worker
          : state
                .workers[state.turn.fetch_add(1, std::memory_order_relaxed) % state.workers.size()];
  std::size_t size = 0;
  {
    const std::lock_guard lock(to.mutex);
    to.queue.push(work);
    size = to.queue.size;
  }
  if ((!inside || !yielding || size > 1) && state.may_wake()) state.wake_one();
}

std::string_view Pool::name() const noexcept { return state_->name; }
std::size_t Pool::workers() const noexcept { return state_->workers.size(); }

struct BlockingPool::State {
  std::mutex mutex;
  std::condition_variable more, ended;
  WorkQueue queue;
  std::size_t most = 0, threads = 0, idle = 0;
  bool ending = false;
  std::string name;
};

BlockingPool::BlockingPool(std::size_t most, std::string name) : state_(std::make_shared<State>()) {
  state_->most = std::max<std::size_t>(1, most);
  state_->name = std::move(name);
}

BlockingPool::~BlockingPool() {
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  state_->more.notify_all();
  state_->ended.wait(lock, [this] { return state_->threads == 0; });
}

void BlockingPool::submit(Work& work, bool) noexcept {
  const std::shared_ptr<State>& state = state_;
  const std::lock_guard lock(state->mutex);
  state->queue.push(work);
  if (state->idle >= state->queue.size || state->threads >= state->most) {
    state->more.notify_one();
    return;
  }
  ++state->threads;
  // Detached, and counted: one that ends must not wait for somebody to join it. It holds the state.
  std::thread([state, this] {
    genscope::name_thread(state->name);
    const internal::RunningOn here(this);
    std::unique_lock held(state->mutex);
    while (true) {
      if (Work* const next = state->queue.pop()) {
        held.unlock();
        next->run(*next);
        held.lock();
        continue;
      }
      if (state->ending) break;
      ++state->idle;
      const auto woken = state->more.wait_for(held, std::chrono::seconds(10));
      --state->idle;
      if (woken == std::cv_status::timeout && state->queue.first == nullptr) break;
    }
    --state->threads;
    state->ended.notify_all();
  }).detach();
}

std::string_view BlockingPool::name() const noexcept { return state_->name; }

std::size_t BlockingPool::threads() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->threads;
}

void post(Executor& executor, UniqueFunction<void()> function) {
  struct Posted : Work {
    explicit Posted(UniqueFunction<void()> given) : body(std::move(given)) {}
    UniqueFunction<void()> body;
  };
  auto* const posted = new Posted(std::move(function));
  posted->run = [](Work& work) noexcept {
    const std::unique_ptr<Posted> owned(static_cast<Posted*>(&work));
    owned->body();
  };
  executor.submit(*posted);
}

}  // namespace genscope::optimize

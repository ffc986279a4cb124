// Scopes. A member is one block: the work that starts it, the record by which it is listed, the
// reference to its context, and the task. It is on its scope's list from spawn() until its frame is
// freed, and only then counts as ended: what the frame held (permits, memory) is back by the time
// that join() returns.
//
// Lock order: the registry of scopes, then a scope. Nothing of the user's runs under either.
#include <genscope/internal/optimize/async/scope.h>

#include <condition_variable>
#include <mutex>

namespace genscope::optimize {
namespace internal {

class ScopeState {
 public:
  ScopeState(Executor& on, const Context& under, const ScopeOptions& with);
  ~ScopeState();

  // record.scope is this already: others may read it while an adopted one enters.
  void enter(TaskRecord& record) noexcept {
    record.before = nullptr;
    record.next = first;
    if (first != nullptr) first->before = &record;
    first = &record;
    ++count;
  }
  void exit(TaskRecord& record, std::exception_ptr error) noexcept;
  std::vector<LiveTask> list() const;

  Executor& executor;
  const Context context;
  const ScopeOptions options;
  mutable std::mutex mutex;
  std::condition_variable emptied;
  TaskRecord* first = nullptr;
  std::size_t count = 0;
  bool closed = false;
  Joiner* joiner = nullptr;
  LoopExecutor* loop = nullptr;  // woken when the scope empties
  Work wake_loop;
  std::exception_ptr error;
  std::vector<TaskError> errors;
  ScopeState *next = nullptr, *before = nullptr;
};

namespace {

struct ScopeRegistry {
  std::mutex mutex;
  ScopeState* first = nullptr;
};
ScopeRegistry& scope_registry() {
  static auto* const all = new ScopeRegistry;
  return *all;
}

struct Member final : Recycled, Work, Completion {
  Member(Task<void> given, const Context& under, const char* called) noexcept
      : context(under), task(std::move(given)) {
    record.name = called;
    record.context = context.state();
    record.since_ns = context.timers().now_ns();
    PromiseBase& promise = task.handle().promise();
    promise.context = context.state();
    promise.record = &record;
    promise.completion = this;
    run = [](Work& work) noexcept { resume(static_cast<Member&>(work).task.handle()); };
  }
  std::coroutine_handle<> finished() noexcept override {
    bury_later(*this);
    return std::noop_coroutine();
  }
  void bury() noexcept override {
    std::exception_ptr error = task.handle().promise().error();
    task = Task<void>();
    record.scope->exit(record, std::move(error));
    delete this;
  }

  TaskRecord record;
  Context context;
  Task<void> task;
};

bool is_stop(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled&) {
    return true;
  } catch (...) {
    return false;
  }
}

LiveTask describe(const TaskRecord& record) {
  LiveTask task;
  task.name = record.name;
  const std::uint64_t site = record.site.load(std::memory_order_relaxed);
  if (site != 0) {
    task.await_line = static_cast<int>(site >> AwaitSite::kLineShift);
    const std::uint64_t file = site & ((std::uint64_t{1} << AwaitSite::kLineShift) - 1);
    task.await_file = reinterpret_cast<const char*>(file);
  }
  if (const char* const lane = record.lane.load(std::memory_order_acquire)) task.lane = lane;
  const std::int64_t now = record.context->timers->now_ns();
  task.age_ns = now - record.since_ns;
  if (record.context->deadline_ns != kNever) task.left_ns = record.context->deadline_ns - now;
  task.tenant = *record.context->tenant;
  task.priority = record.context->priority;
  return task;
}

}  // namespace

ScopeState::ScopeState(Executor& on, const Context& under, const ScopeOptions& with)
    : executor(on), context(under.child()), options(with) {
  ScopeRegistry& all = scope_registry();
  const std::lock_guard lock(all.mutex);
  next = all.first;
  if (next != nullptr) next->before = this;
  all.first = this;
}

ScopeState::~ScopeState() {
  ScopeRegistry& all = scope_registry();
  const std::lock_guard lock(all.mutex);
  (before != nullptr ? before->next : all.first) = next;
  if (next != nullptr) next->before = before;
}

void ScopeState::exit(TaskRecord& record, std::exception_ptr failed) noexcept {
  bool stop = false;
  Joiner* resumed = nullptr;
  if (failed && options.on_error == OnError::stop_siblings &&
      !(context.stop_requested() && is_stop(failed))) {
    const std::lock_guard lock(mutex);
    stop = error == nullptr;
    if (stop) error = std::move(failed);
  }
  if (stop) context.request_stop();
  {
    const std::lock_guard lock(mutex);
    if (failed && options.on_error == OnError::collect_all) {
      errors.push_back({record.name, std::move(failed)});
    }
    (record.before != nullptr ? record.before->next : first) = record.next;
    if (record.next != nullptr) record.next->before = record.before;
    if (--count == 0) {
      resumed = std::exchange(joiner, nullptr);
      if (loop != nullptr) loop->submit(wake_loop, false);
      emptied.notify_all();  // under the lock: the waiter may destroy this as soon as it is free
    }
  }
  if (resumed != nullptr) resumed->go_on();
}

std::vector<LiveTask> ScopeState::list() const {
  std::vector<LiveTask> tasks;
  const std::lock_guard lock(mutex);
  for (const TaskRecord* record = first; record != nullptr; record = record->next) {
    tasks.push_back(describe(*record));
  }
  return tasks;
}

bool join_later(ScopeState& scope, Joiner& joiner, std::coroutine_handle<> coroutine) noexcept {
  const std::lock_guard lock(scope.mutex);
  if (scope.count == 0) return false;
  joiner.suspend(coroutine);
  scope.joiner = &joiner;
  return true;
}

void finish_join(ScopeState& scope) {
  std::exception_ptr error;
  {
    const std::lock_guard lock(scope.mutex);
    error = std::exchange(scope.error, nullptr);
  }
  if (error) std::rethrow_exception(error);
}

void adopt(TaskRecord& body, ScopeState& scope) noexcept {
  const std::lock_guard lock(scope.mutex);
  scope.enter(body);
}

void leave(TaskRecord& body) noexcept { body.scope->exit(body, nullptr); }

}  // namespace internal

Scope::Scope(Executor& executor, const Context& context, const ScopeOptions& options)
    : state_(std::make_unique<internal::ScopeState>(executor, context, options)) {}

Scope::~Scope() {
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  if (state_->count == 0) return;
  lock.unlock();
  state_->context.request_stop();
  lock.lock();
  state_->emptied.wait(lock, [this] { return state_->count == 0; });
}

bool Scope::spawn(Task<void> task, const char* name) {
  return spawn(std::move(task), name, state_->context);
}

bool Scope::spawn(Task<void> task, const char* name, const Context& context) {
  auto* const member = new internal::Member(std::move(task), context, name);
  member->record.scope = state_.get();
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->closed) {
      delete member;
      return false;
    }
    state_->enter(member->record);
  }
  state_->executor.submit(*member);
  return true;
}

Scope::Join Scope::join() noexcept { return Join(*state_); }

void Scope::wait() {
  {
    std::unique_lock lock(state_->mutex);
    state_->emptied.wait(lock, [this] { return state_->count == 0; });
  }
  internal::finish_join(*state_);
}

void Scope::request_stop() noexcept { state_->context.request_stop(); }
const Context& Scope::context() const noexcept { return state_->context; }

std::size_t Scope::size() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->count;
}

std::vector<LiveTask> Scope::live() const { return state_->list(); }

std::vector<TaskError> Scope::errors() const {
  const std::lock_guard lock(state_->mutex);
  return state_->errors;
}

namespace {

// Ends the join of a close() when the grace is over.
struct GraceTimer : Timer {
  explicit GraceTimer(internal::ScopeState& of) noexcept : scope(&of) {
    fire = [](Timer& timer) noexcept {
      auto& self = static_cast<GraceTimer&>(timer);
      internal::Joiner* resumed = nullptr;
      {
        const std::lock_guard lock(self.scope->mutex);
        self.fired = true;
        resumed = std::exchange(self.scope->joiner, nullptr);
        self.scope->emptied.notify_all();
      }
      if (resumed != nullptr) resumed->go_on();
    };
  }
  internal::ScopeState* scope;
  bool fired = false;
};

struct GraceJoin : internal::Joiner {
  explicit GraceJoin(GraceTimer& with) noexcept : timer(&with) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> closing) noexcept {
    internal::ScopeState& scope = *timer->scope;
    const std::lock_guard lock(scope.mutex);
    if (scope.count == 0 || timer->fired) return false;
    suspend(closing);
    scope.joiner = this;
    return true;
  }
  void await_resume() const noexcept {}
  GraceTimer* timer;
};

// The timer is either cancelled, or has fired and is done with the scope.
void settle(GraceTimer& timer, Timers& timers) noexcept {
  if (timers.cancel(timer)) return;
  std::unique_lock lock(timer.scope->mutex);
  timer.scope->emptied.wait(lock, [&] { return timer.fired; });
}

}  // namespace

Task<std::vector<LiveTask>> Scope::close(nanoseconds grace) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
  }
  Timers& timers = state_->context.timers();
  GraceTimer timer(*state_);
  timers.arm(timer, timers.now_ns() + grace.count());
  co_await GraceJoin(timer);
  settle(timer, timers);
  std::vector<LiveTask> left = live();
  if (!left.empty()) request_stop();
  co_return left;
}

std::vector<LiveTask> Scope::close_blocking(nanoseconds grace) {
  Timers& timers = state_->context.timers();
  GraceTimer timer(*state_);
  timers.arm(timer, timers.now_ns() + grace.count());
  {
    std::unique_lock lock(state_->mutex);
    state_->closed = true;
    state_->emptied.wait(lock, [&] { return state_->count == 0 || timer.fired; });
  }
  settle(timer, timers);
  std::vector<LiveTask> left = live();
  if (!left.empty()) request_stop();
  return left;
}

namespace internal {

struct LoopExecutor::State {
  std::mutex mutex;
  std::condition_variable more;
  Work *first = nullptr, *last = nullptr;
};

LoopExecutor::LoopExecutor() : state_(std::make_unique<State>()) {}
LoopExecutor::~LoopExecutor() = default;

void LoopExecutor::submit(Work& work, bool) noexcept {
  const std::lock_guard lock(state_->mutex);
  work.next = nullptr;
  (state_->last != nullptr ? state_->last->next : state_->first) = &work;
  state_->last = &work;
  state_->more.notify_one();
}

void LoopExecutor::run(Scope& scope) noexcept {
  ScopeState& emptied = *scope.state_;
  {
    const std::lock_guard lock(emptied.mutex);
    if (emptied.count == 0) return;
    emptied.loop = this;
  }
  const RunningOn here(this);
  while (true) {
    Work* work = nullptr;
    {
      std::unique_lock lock(state_->mutex);
      state_->more.wait(lock, [this] { return state_->first != nullptr; });
      work = state_->first;
      state_->first = work->next;
      if (state_->first == nullptr) state_->last = nullptr;
    }
    if (work == &emptied.wake_loop) return;
    work->run(*work);
  }
}

void run_to_end(Task<void> task, const Context& context) {
  LoopExecutor loop;
  Scope scope(loop, context);
  scope.spawn(std::move(task), "sync_wait");
  loop.run(scope);
}

}  // namespace internal

std::vector<LiveTask> live_tasks() {
  std::vector<LiveTask> all;
  internal::ScopeRegistry& registry = internal::scope_registry();
  const std::lock_guard lock(registry.mutex);
  for (const internal::ScopeState* scope = registry.first; scope != nullptr; scope = scope->next) {
    for (LiveTask& task : scope->list()) all.push_back(std::move(task));
  }
  return all;
}

}  // namespace genscope::optimize

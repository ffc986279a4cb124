// The book decides under the lock, and what it decided is collected there as effects: answers,
// transfers, stops. They are carried out without it, so that a callback may call the manager and a
// load may take its time. Each entry point is therefore the same four steps: lock, tell the book,
// take the effects, unlock and carry them out.
//
// One thread keeps the time: it sleeps until the book's next deadline and is woken when an earlier
// one turns up. Each request has one answer, because a waiter is taken out of the table with the
// answer that is made for it.
#include <genscope/optimize/models.h>

#include <fmt/format.h>

#include <chrono>

#include "base/clock.h"
#include "optimize/models/core.h"

namespace genscope::optimize {
namespace internal_models {

Core::Effects Core::take_effects() {
  Effects effects;
  effects.threads = options.book.disk_readers + book.device_count() + 2;
  for (ModelAction& action : book.take_actions()) {
    switch (action.kind) {
      case ModelAction::Kind::grant:
      case ModelAction::Kind::fail:
        collect_answer(action, effects);
        break;
      case ModelAction::Kind::abort:
        effects.aborts.push_back(slots[action.model][action.device].stop);
        break;
      case ModelAction::Kind::load:
        slots[action.model][action.device].stop = std::stop_source();
        [[fallthrough]];
      default:
        moving++;
        effects.transfers.push_back(std::move(action));
    }
  }
  if (book.next_time() < timer_at) timer_wake.notify_one();
  return effects;
}

void Core::collect_answer(const ModelAction& action, Effects& effects) {
  const auto at = waiters.find(action.request);
  LeaseAnswer answer;
  answer.refusal = action.refusal;
  answer.error = action.error;
  if (action.kind == ModelAction::Kind::grant) {
    ModelLease& lease = answer.lease;
    lease.core_ = shared_from_this();
    lease.id_ = action.request;
    lease.model_ = slots[action.model][action.device].object;
    lease.name_ = book.model_name(action.model);
    lease.device_ = book.device_name(action.device);
    lease.waited_ns_ = base::monotonic_ns() - at->second.since_ns;
  }
  effects.answers.emplace_back(std::move(at->second), std::move(answer));
  waiters.erase(at);
}

void Core::carry_out(Effects effects) {
  for (const ModelAction& action : effects.transfers) {
    workers.run([this, action] { transfer(action); }, effects.threads);
  }
  for (std::stop_source& stop : effects.aborts) stop.request_stop();
  for (auto& [waiter, answer] : effects.answers) {
    if (waiter.span) {
      answer.refusal == LeaseRefusal::none ? end(waiter.span) : end_failed(waiter.span);
    }
    waiter.then(std::move(answer));
  }
}

std::uint64_t Core::ask(std::string_view model, const LeaseOptions& asked,
                        std::function<void(LeaseAnswer)> then) {
  std::unique_lock lock(mutex);
  const Result<std::uint32_t> found = book.find_model(model);
  RequestSpec spec;
  Error wrong;
  bool refused = !found;
  if (!found) wrong = found.error();
  if (!refused && !asked.device.empty()) {
    const Result<std::uint32_t> device = book.find_device(asked.device);
    refused = !device;
    device ? void(spec.device = *device) : void(wrong = device.error());
  }
  if (!refused && book.device_count() == 0) {
    refused = true;
    wrong = {ErrorCode::invalid_argument, "the manager has no device; add one first"};
  }
  if (!refused && closing) {
    refused = true;
    wrong = {ErrorCode::io, "the model manager is closed"};
  }
  if (refused) {
    const LeaseRefusal why = closing ? LeaseRefusal::closed : LeaseRefusal::broken;
    lock.unlock();
    LeaseAnswer answer;
    answer.refusal = why;
    answer.error = std::move(wrong);
    then(std::move(answer));
    return 0;
  }
  const std::int64_t now = base::monotonic_ns();
  spec.model = *found;
  spec.priority = asked.priority;
  if (asked.timeout_ns < kNever - now) {
    spec.deadline_ns = now + std::max<std::int64_t>(asked.timeout_ns, 0);
  }
  const std::uint64_t id = book.request(now, spec);
  waiters[id] = {std::move(then), now, {}};
  Effects effects = take_effects();
  const auto still = waiters.find(id);
  if (still != waiters.end()) {
    still->second.span = begin(SpanKind::task, "wait for model", {}, {{"model", model}});
  }
  lock.unlock();
  carry_out(std::move(effects));
  return id;
}

bool Core::cancel(std::uint64_t request) {
  std::unique_lock lock(mutex);
  if (!book.cancel(base::monotonic_ns(), request)) return false;
  ModelAction action;
  action.kind = ModelAction::Kind::fail;
  action.request = request;
  action.refusal = closing ? LeaseRefusal::closed : LeaseRefusal::cancelled;
  action.error = {ErrorCode::io, closing ? "the model manager is closed"
                                         : "the request for the model was cancelled"};
  Effects effects = take_effects();
  collect_answer(action, effects);
  lock.unlock();
  carry_out(std::move(effects));
  return true;
}

void Core::release(std::uint64_t lease) noexcept {
  std::unique_lock lock(mutex);
  book.release(base::monotonic_ns(), lease);
  Effects effects = take_effects();
  lock.unlock();
  carry_out(std::move(effects));
}

bool Core::out_of_memory(std::uint64_t lease) {
  std::unique_lock lock(mutex);
  const bool any = book.out_of_memory(base::monotonic_ns(), lease);
  Effects effects = take_effects();
  lock.unlock();
  carry_out(std::move(effects));
  lock.lock();
  changed.wait(lock, [&] {
    for (const LedgerRow& row : book.ledger().models) {
      if (row.state == ModelState::unloading || row.state == ModelState::falling_asleep) {
        return false;
      }
    }
    return true;
  });
  return any;
}

// Deadlines, residency, keep-alive: what happens because time passes.
void Core::keep_time() {
  std::unique_lock lock(mutex);
  while (!timer_stop) {
    timer_at = book.next_time();
    if (timer_at == kNever) {
      timer_wake.wait(lock);
      continue;
    }
    const std::int64_t now = base::monotonic_ns();
    if (now < timer_at) {
      timer_wake.wait_for(lock, std::chrono::nanoseconds(timer_at - now));
      continue;
    }
    book.tick(now);
    Effects effects = take_effects();
    lock.unlock();
    carry_out(std::move(effects));
    lock.lock();
  }
}

void Core::close() {
  {
    std::unique_lock lock(mutex);
    if (closing) return;
    closing = true;
    std::vector<std::uint64_t> left;
    for (const auto& [id, _] : waiters) left.push_back(id);
    lock.unlock();
    for (const std::uint64_t id : left) cancel(id);
    lock.lock();
    for (std::uint32_t model = 0; model < book.model_count(); ++model) {
      book.unload(base::monotonic_ns(), model);
    }
    Effects effects = take_effects();
    lock.unlock();
    carry_out(std::move(effects));
    lock.lock();
    changed.wait(lock, [&] { return moving == 0; });
    timer_stop = true;
    timer_wake.notify_all();
  }
  if (timer.joinable()) timer.join();
  workers.close();
}

}  // namespace internal_models

ModelLease::ModelLease(ModelLease&& other) noexcept { *this = std::move(other); }
ModelLease& ModelLease::operator=(ModelLease&& other) noexcept {
  if (this == &other) return *this;
  release();
  core_ = std::exchange(other.core_, nullptr);
  id_ = other.id_;
  model_ = std::move(other.model_);
  name_ = std::move(other.name_);
  device_ = std::move(other.device_);
  waited_ns_ = other.waited_ns_;
  return *this;
}
ModelLease::~ModelLease() { release(); }

void ModelLease::release() noexcept {
  if (core_ == nullptr) return;
  model_.reset();  // before the unload, which then has the last reference
  std::exchange(core_, nullptr)->release(id_);
}

bool ModelLease::out_of_memory() { return core_ != nullptr && core_->out_of_memory(id_); }

ModelManager::ModelManager(const ManagerOptions& options)
    : core_(std::make_shared<internal_models::Core>(options)) {
  core_->timer = std::thread([core = core_.get()] { core->keep_time(); });
}
ModelManager::~ModelManager() { core_->close(); }

Status ModelManager::add_device(const DeviceSpec& spec) {
  const std::lock_guard lock(core_->mutex);
  const Result<std::uint32_t> added = core_->book.add_device(spec);
  if (!added) return added.error();
  for (auto& model : core_->slots) model.emplace_back();
  return Done{};
}

Status ModelManager::add(const ModelSpec& spec, ModelHooks hooks) {
  if (!hooks.load) {
    return Error{ErrorCode::invalid_argument,
                 "model " + spec.name + " needs a function that loads"};
  }
  if ((hooks.sleep == nullptr) != (hooks.wake == nullptr)) {
    return Error{ErrorCode::invalid_argument,
                 "model " + spec.name + ": sleep and wake come together; give both or neither"};
  }
  ModelSpec own = spec;
  if (!hooks.sleep) own.sleep.clear();
  const std::lock_guard lock(core_->mutex);
  const Result<std::uint32_t> added = core_->book.add_model(own);
  if (!added) return added.error();
  core_->hooks.push_back(std::move(hooks));
  core_->slots.emplace_back(core_->book.device_count());
  return Done{};
}

Result<ModelLease> ModelManager::lease(std::string_view model, const LeaseOptions& options) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable come;
    std::optional<LeaseAnswer> answer;
  };
  const auto shared = std::make_shared<Shared>();
  const std::uint64_t id = core_->ask(model, options, [shared](LeaseAnswer answer) {
    const std::lock_guard lock(shared->mutex);
    shared->answer = std::move(answer);
    shared->come.notify_all();
  });
  const std::stop_callback on_stop(options.stop, [&] { core_->cancel(id); });
  std::unique_lock lock(shared->mutex);
  shared->come.wait(lock, [&] { return shared->answer.has_value(); });
  if (shared->answer->refusal != LeaseRefusal::none) return std::move(shared->answer->error);
  return std::move(shared->answer->lease);
}

std::uint64_t ModelManager::lease(std::string_view model, const LeaseOptions& options,
                                  std::function<void(LeaseAnswer)> then) {
  if (!options.stop.stop_possible()) return core_->ask(model, options, std::move(then));
  // Lives as long as the answer is open, and on this stack.
  using OnStop = std::stop_callback<std::function<void()>>;
  const auto on_stop = std::make_shared<std::unique_ptr<OnStop>>();
  const std::uint64_t id = core_->ask(
      model, options,
      [on_stop, then = std::move(then)](LeaseAnswer answer) { then(std::move(answer)); });
  *on_stop = std::make_unique<OnStop>(options.stop, [core = core_, id] { core->cancel(id); });
  return id;
}

bool ModelManager::cancel(std::uint64_t request) { return core_->cancel(request); }

namespace {

// Finds the model, tells the book, carries out.
template <class Tell>
Status tell_book(internal_models::Core& core, std::string_view model, Tell tell) {
  std::unique_lock lock(core.mutex);
  const Result<std::uint32_t> found = core.book.find_model(model);
  if (!found) return found.error();
  if (core.closing) return Error{ErrorCode::io, "the model manager is closed"};
  tell(base::monotonic_ns(), *found);
  internal_models::Core::Effects effects = core.take_effects();
  lock.unlock();
  core.carry_out(std::move(effects));
  return Done{};
}

}  // namespace

Status ModelManager::pin(std::string_view model, bool pinned) {
  return tell_book(*core_, model, [&](std::int64_t now, std::uint32_t found) {
    core_->book.pin(now, found, pinned);
    if (pinned) core_->book.prefetch(now, found);
  });
}

Status ModelManager::prefetch(std::string_view model, std::string_view device) {
  std::uint32_t on = kAnyDevice;
  if (!device.empty()) {
    const std::lock_guard lock(core_->mutex);
    const Result<std::uint32_t> found = core_->book.find_device(device);
    if (!found) return found.error();
    on = *found;
  }
  return tell_book(*core_, model, [&](std::int64_t now, std::uint32_t found) {
    core_->book.prefetch(now, found, on);
  });
}

Status ModelManager::unload(std::string_view model) {
  return tell_book(*core_, model,
                   [&](std::int64_t now, std::uint32_t found) { core_->book.unload(now, found); });
}

Result<Reconciliation> ModelManager::reconcile(std::string_view device, std::uint64_t free_bytes) {
  std::unique_lock lock(core_->mutex);
  const Result<std::uint32_t> found = core_->book.find_device(device);
  if (!found) return found.error();
  const Ledger ledger = core_->book.ledger();
  const DeviceRow row = ledger.devices[*found];
  Reconciliation report;
  report.device = device;
  report.free_bytes = free_bytes;
  report.reserved_bytes = row.reserved_bytes;
  report.foreign_before_bytes = report.foreign_after_bytes = row.foreign_bytes;
  report.budget_before_bytes = report.budget_after_bytes = row.budget_bytes;
  for (const LedgerRow& model : ledger.models) {
    const bool still = model.state == ModelState::ready || model.state == ModelState::sleeping ||
                       model.state == ModelState::absent || model.state == ModelState::failed;
    if (model.device == device && !still) return report;
  }
  // All that models could have: what they have, and what is free.
  const std::uint64_t possible = row.reserved_bytes + free_bytes;
  const std::uint64_t foreign = row.bytes > possible ? row.bytes - possible : 0;
  report.applied = true;
  report.foreign_after_bytes = foreign;
  core_->book.set_foreign(base::monotonic_ns(), *found, foreign);
  report.budget_after_bytes = core_->book.ledger().devices[*found].budget_bytes;
  internal_models::Core::Effects effects = core_->take_effects();
  lock.unlock();
  core_->carry_out(std::move(effects));
  return report;
}

Ledger ModelManager::ledger() const {
  const std::lock_guard lock(core_->mutex);
  return core_->book.ledger();
}
std::vector<WhyEntry> ModelManager::why() const {
  const std::lock_guard lock(core_->mutex);
  return core_->book.why();
}
BookStats ModelManager::stats() const {
  const std::lock_guard lock(core_->mutex);
  return core_->book.stats();
}
std::vector<TransferRow> ModelManager::transfers() const {
  const std::lock_guard lock(core_->mutex);
  return {core_->transfers.begin(), core_->transfers.end()};
}
std::vector<LeakRow> ModelManager::leaks() const {
  const std::lock_guard lock(core_->mutex);
  std::vector<LeakRow> rows;
  for (const auto& [place, bytes] : core_->leaks)
    rows.push_back({place.first, place.second, bytes});
  return rows;
}

void ModelManager::settle() {
  std::unique_lock lock(core_->mutex);
  core_->changed.wait(lock, [&] { return core_->moving == 0; });
}
void ModelManager::close() { core_->close(); }

}  // namespace genscope::optimize

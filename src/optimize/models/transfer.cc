// Loads, unloads, sleeps and wakes: the calls into a user's functions, on threads of the manager.
#include <fmt/format.h>

#include <exception>
#include <new>

#include "base/clock.h"
#include "optimize/models/core.h"

namespace genscope::optimize::internal_models {
namespace {

// Below it, what an unload leaves behind is the allocator's own.
constexpr std::uint64_t kLeakSlack = std::uint64_t{16} << 20;

// Runs a callback; what it throws is an Error.
template <class Call>
auto guarded(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::no_space, "out of memory"};
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::io, thrown.what()};
  } catch (...) {
    return Error{ErrorCode::io, "it threw something that is no std::exception"};
  }
}

ActionOutcome outcome_of(const Error& error) {
  ActionOutcome outcome;
  outcome.kind = error.code == ErrorCode::no_space ? ActionOutcome::Kind::out_of_memory
                                                   : ActionOutcome::Kind::failed;
  outcome.message = error.message;
  return outcome;
}

SpanKind span_kind(ModelAction::Kind kind) {
  return kind == ModelAction::Kind::load || kind == ModelAction::Kind::wake ? SpanKind::load
                                                                            : SpanKind::task;
}

std::string span_name(ModelAction::Kind kind, const std::string& model) {
  return kind == ModelAction::Kind::load ? model : fmt::format("{} {}", name(kind), model);
}

}  // namespace

std::string Core::model_name(std::uint32_t model) const {
  const std::lock_guard lock(mutex);
  return book.model_name(model);
}
std::string Core::device_name(std::uint32_t device) const {
  const std::lock_guard lock(mutex);
  return book.device_name(device);
}

std::optional<std::uint64_t> Core::used(std::uint32_t device) const noexcept {
  if (!options.used_bytes) return {};
  try {
    return options.used_bytes(device_name(device));
  } catch (...) {
    return {};
  }
}

void Core::transfer(const ModelAction& action) noexcept {
  TransferRow row;
  row.kind = action.kind;
  row.model = model_name(action.model);
  row.device = device_name(action.device);
  ModelPointer object;
  bool alone = false;
  std::uint64_t changes = 0;
  {
    const std::lock_guard lock(mutex);
    Traffic& here = traffic[action.device];
    alone = here.under_way++ == 0;
    changes = ++here.changes;
  }
  if (action.kind != ModelAction::Kind::load) {
    const std::lock_guard lock(mutex);
    object = slots[action.model][action.device].object;
    if (action.kind == ModelAction::Kind::unload) slots[action.model][action.device].object.reset();
  }
  const Handle span = begin(span_kind(action.kind), span_name(action.kind, row.model), {},
                            {{"device", row.device}, {"bytes", action.bytes}});
  row.before_bytes = used(action.device);
  const bool loads = action.kind == ModelAction::Kind::load;
  ActionOutcome outcome = loads ? load(action, object, row) : other(action, object, row);
  row.ok = outcome.kind == ActionOutcome::Kind::ok;
  row.ok ? end(span) : end_failed(span);

  std::unique_lock lock(mutex);
  Slot& slot = slots[action.model][action.device];
  Traffic& here = traffic[action.device];
  alone = alone && here.changes == changes;
  here.under_way--;
  here.changes++;
  const auto taken = [alone](const auto& less, const auto& more) -> std::optional<std::uint64_t> {
    if (!less || !more || !alone) return {};
    return *more > *less ? *more - *less : 0;
  };
  if (loads && row.ok) {
    slot.object = std::move(object);
    slot.taken_bytes = taken(row.before_bytes, row.after_bytes);
    if (outcome.bytes == 0) outcome.bytes = slot.taken_bytes.value_or(0);
  } else if (action.kind == ModelAction::Kind::unload && slot.taken_bytes) {
    if (const auto freed = taken(row.after_bytes, row.before_bytes)) {
      const std::uint64_t left = *slot.taken_bytes > *freed ? *slot.taken_bytes - *freed : 0;
      left > kLeakSlack ? void(leaks[{row.model, row.device}] = left)
                        : void(leaks.erase({row.model, row.device}));
    }
    slot.taken_bytes.reset();
  }
  if (transfers.size() >= options.transfer_entries && !transfers.empty()) transfers.pop_front();
  if (options.transfer_entries != 0) transfers.push_back(std::move(row));
  moving--;
  book.finished(base::monotonic_ns(), action, outcome);
  std::uint64_t reserved = 0;
  for (const DeviceRow& device : book.ledger().devices) reserved += device.reserved_bytes;
  Effects effects = take_effects();
  changed.notify_all();
  // close() may be waiting for this: nothing of `this` may be touched after the lock, unless there
  // is more to do, which it then waits for, too.
  if (effects.answers.empty() && effects.transfers.empty() && effects.aborts.empty()) {
    lock.unlock();
    counter("models_reserved_bytes", static_cast<double>(reserved));
    return;
  }
  lock.unlock();
  counter("models_reserved_bytes", static_cast<double>(reserved));
  carry_out(std::move(effects));
}

ActionOutcome Core::load(const ModelAction& action, ModelPointer& object, TransferRow& row) {
  const std::int64_t from = base::monotonic_ns();
  ModelHooks calls;
  std::stop_token stop;
  {
    const std::lock_guard lock(mutex);
    calls = hooks[action.model];
    stop = slots[action.model][action.device].stop.get_token();
  }
  ActionOutcome outcome;
  if (stop.stop_requested()) {  // nobody waits any more, and nothing was done yet
    outcome.kind = ActionOutcome::Kind::aborted;
    return outcome;
  }
  const LoadCall call{row.model, row.device, action.bytes, stop};
  Result<ModelPointer> loaded = guarded([&]() -> Result<ModelPointer> { return calls.load(call); });
  row.took_ns = base::monotonic_ns() - from;
  row.after_bytes = used(action.device);
  if (!loaded) {
    outcome = outcome_of(loaded.error());
    if (stop.stop_requested()) outcome.kind = ActionOutcome::Kind::aborted;
    return outcome;
  }
  object = std::move(*loaded);
  outcome.took_ns = row.took_ns;
  if (calls.size) {
    const Result<std::uint64_t> size =
        guarded([&]() -> Result<std::uint64_t> { return calls.size(object); });
    if (size) outcome.bytes = *size;
  }
  if (!calls.warmup) return outcome;
  const Handle span = begin(SpanKind::task, "warm up " + row.model);
  const Status warm = guarded([&]() -> Status { return calls.warmup(object); });
  warm ? end(span) : end_failed(span);
  if (warm) return outcome;
  outcome = outcome_of(warm.error());
  outcome.message = "its warm-up failed: " + outcome.message;
  if (calls.unload) (void)guarded([&]() -> Status { return calls.unload(object, row.device); });
  object.reset();
  return outcome;
}

ActionOutcome Core::other(const ModelAction& action, ModelPointer& object, TransferRow& row) {
  const std::int64_t from = base::monotonic_ns();
  ModelHooks calls;
  {
    const std::lock_guard lock(mutex);
    calls = hooks[action.model];
  }
  Status done = Done{};
  switch (action.kind) {
    case ModelAction::Kind::unload:
      if (calls.unload) {
        done = guarded([&]() -> Status { return calls.unload(object, row.device); });
      }
      object.reset();
      break;
    case ModelAction::Kind::sleep:
      done = guarded([&]() -> Status { return calls.sleep(object, action.level); });
      break;
    case ModelAction::Kind::wake:
      done = guarded([&]() -> Status { return calls.wake(object, action.level); });
      break;
    default:
      break;
  }
  row.took_ns = base::monotonic_ns() - from;
  row.after_bytes = used(action.device);
  if (!done) return outcome_of(done.error());
  ActionOutcome outcome;
  outcome.took_ns = row.took_ns;
  return outcome;
}

}  // namespace genscope::optimize::internal_models

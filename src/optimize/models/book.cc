// Requests in, answers out; what happens when a load ends. What to do next is plan.cc's.
#include "optimize/models/book.h"

#include <fmt/format.h>

#include "base/suggest.h"

namespace genscope::optimize {
namespace {

template <class List, class Name>
Result<std::uint32_t> find_named(const List& list, std::string_view word, const char* kind,
                                 Name name_of) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    if (name_of(list[i]) == word) return i;
    names.push_back(name_of(list[i]));
  }
  const std::string near = base::nearest(word, names);
  std::string text = fmt::format("there is no {} {}", kind, word);
  if (!near.empty()) text += fmt::format("; did you mean {}?", near);
  return Error{ErrorCode::not_found, std::move(text)};
}

std::int64_t smoothed_ns(std::int64_t old, std::int64_t value) {
  value = std::max<std::int64_t>(value, 1);
  return old == 0 ? value : old + (value - old) * 3 / 10;
}

}  // namespace

ModelBook::ModelBook(const BookOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
}
ModelBook::~ModelBook() = default;
ModelBook::ModelBook(ModelBook&&) noexcept = default;
ModelBook& ModelBook::operator=(ModelBook&&) noexcept = default;

Result<std::uint32_t> ModelBook::add_device(const DeviceSpec& spec) {
  if (spec.name.empty() || spec.bytes == 0) {
    return Error{ErrorCode::invalid_argument, "a device needs a name and a number of bytes"};
  }
  if (find_device(spec.name)) {
    return Error{ErrorCode::invalid_argument, "device " + spec.name + " is there already"};
  }
  impl_->devices.push_back({});
  impl_->devices.back().spec = spec;
  for (BookModel& model : impl_->models) model.on.push_back({});
  return static_cast<std::uint32_t>(impl_->devices.size() - 1);
}

Result<std::uint32_t> ModelBook::add_model(const ModelSpec& spec) {
  if (spec.name.empty()) return Error{ErrorCode::invalid_argument, "a model needs a name"};
  if (find_model(spec.name)) {
    return Error{ErrorCode::invalid_argument, "model " + spec.name + " is registered already"};
  }
  impl_->models.push_back({});
  impl_->models.back().spec = spec;
  impl_->models.back().on.resize(impl_->devices.size());
  return static_cast<std::uint32_t>(impl_->models.size() - 1);
}

Result<std::uint32_t> ModelBook::find_model(std::string_view word) const {
  return find_named(impl_->models, word, "model",
                    [](const BookModel& m) -> const std::string& { return m.spec.name; });
}
Result<std::uint32_t> ModelBook::find_device(std::string_view word) const {
  return find_named(impl_->devices, word, "device",
                    [](const BookDevice& d) -> const std::string& { return d.spec.name; });
}

std::uint64_t ModelBook::request(std::int64_t now, const RequestSpec& spec) {
  Impl& b = *impl_;
  b.last_now = now;
  const std::uint64_t id = b.next_id++;
  b.stats.requests++;
  BookModel& m = b.models[spec.model];
  m.use = b.use_now(m, now) + 1;
  if (m.use_at > 0) m.gap_ns = smoothed_ns(m.gap_ns, now - m.use_at);
  m.use_at = now;
  b.waiting[id] = {spec.model, spec.priority, now, spec.deadline_ns, spec.device};
  m.waiting.insert({-spec.priority, id});
  m.arrivals.insert(id);
  m.arrival_sum += static_cast<double>(now) / 1e9;
  if (spec.deadline_ns != kNever) b.deadlines.insert({spec.deadline_ns, id});
  if (spec.device == kAnyDevice) b.note_placement(now, spec.model);
  const std::uint64_t granted = b.stats.granted;
  b.decide(now);
  if (b.stats.granted > granted && !b.waiting.contains(id)) b.stats.granted_at_once++;
  return id;
}

// Counts arrivals that another device, load included, would have served sooner.
void ModelBook::Impl::note_placement(std::int64_t now, std::uint32_t model) {
  if (devices.size() < 2) return;
  BookModel& m = models[model];
  double here = -1, there = -1;
  for (std::uint32_t d = 0; d < devices.size(); ++d) {
    const double finish = backlog_ns(now, d) + static_cast<double>(arrival_cost(model, d));
    double& best = m.on[d].state == ModelState::ready ? here : there;
    if (best < 0 || finish < best) best = finish;
  }
  m.elsewhere = here >= 0 && there >= 0 && there < here ? m.elsewhere + 1 : 0;
}

void ModelBook::Impl::forget(std::uint64_t id) {
  const auto at = waiting.find(id);
  const BookRequest& r = at->second;
  BookModel& m = models[r.model];
  m.waiting.erase({-r.priority, id});
  m.arrivals.erase(id);
  m.arrival_sum = m.waiting.empty() ? 0 : m.arrival_sum - static_cast<double>(r.arrival) / 1e9;
  if (r.deadline != kNever) deadlines.erase({r.deadline, id});
  waiting.erase(at);
}

void ModelBook::Impl::answer_grant(std::int64_t now, std::uint64_t id, std::uint32_t device) {
  const BookRequest r = waiting.at(id);
  forget(id);
  BookModel& m = models[r.model];
  BookEntry& e = m.on[device];
  e.leases++;
  e.last_used = now;
  devices[device].leases++;
  leases[id] = {r.model, device, now};
  stats.granted++;
  stats.wait_ns += now - r.arrival;
  stats.max_wait_ns = std::max(stats.max_wait_ns, now - r.arrival);
  ModelAction action;
  action.kind = ModelAction::Kind::grant;
  action.model = r.model;
  action.device = device;
  action.request = id;
  actions.push_back(std::move(action));
  m.prefetch_until = 0;
  if (m.spec.then.empty()) return;
  for (BookModel& next : models) {
    if (next.spec.name == m.spec.then) {
      next.prefetch_until = now + options.prefetch_ns;
      next.prefetch_device = kAnyDevice;
    }
  }
}

void ModelBook::Impl::answer_fail(std::int64_t, std::uint64_t id, LeaseRefusal refusal,
                                  Error error) {
  ModelAction action;
  action.kind = ModelAction::Kind::fail;
  action.model = waiting.at(id).model;
  action.device = kAnyDevice;
  action.request = id;
  action.refusal = refusal;
  action.error = std::move(error);
  forget(id);
  stats.failed++;
  actions.push_back(std::move(action));
}

void ModelBook::Impl::fail_all(std::int64_t now, std::uint32_t model, LeaseRefusal refusal,
                               const Error& error) {
  while (!models[model].waiting.empty()) {
    answer_fail(now, models[model].waiting.begin()->second, refusal, error);
  }
}

bool ModelBook::cancel(std::int64_t now, std::uint64_t request) {
  Impl& b = *impl_;
  b.last_now = now;
  if (!b.waiting.contains(request)) return false;
  b.forget(request);
  b.stats.cancelled++;
  b.decide(now);
  return true;
}

void ModelBook::release(std::int64_t now, std::uint64_t lease) {
  Impl& b = *impl_;
  b.last_now = now;
  const auto at = b.leases.find(lease);
  if (at == b.leases.end()) return;
  const BookLease l = at->second;
  b.leases.erase(at);
  BookModel& m = b.models[l.model];
  m.on[l.device].leases--;
  m.on[l.device].last_used = now;
  m.service_ns = smoothed_ns(m.service_ns, now - l.since);
  b.devices[l.device].leases--;
  b.decide(now);
}

void ModelBook::prefetch(std::int64_t now, std::uint32_t model, std::uint32_t device) {
  impl_->last_now = now;
  BookModel& m = impl_->models[model];
  m.prefetch_until = now + impl_->options.prefetch_ns;
  m.prefetch_device = device;
  impl_->decide(now);
}

void ModelBook::pin(std::int64_t now, std::uint32_t model, bool pinned) {
  impl_->last_now = now;
  impl_->models[model].spec.pinned = pinned;
  impl_->decide(now);
}

void ModelBook::unload(std::int64_t now, std::uint32_t model) {
  impl_->last_now = now;
  BookModel& m = impl_->models[model];
  m.prefetch_until = 0;
  for (BookEntry& e : m.on) e.leaving = e.state != ModelState::absent;
  impl_->decide(now);
}

void ModelBook::set_foreign(std::int64_t now, std::uint32_t device, std::uint64_t bytes) {
  impl_->last_now = now;
  impl_->devices[device].foreign = bytes;
  impl_->decide(now);
}

bool ModelBook::Impl::evict_idle(std::int64_t now, std::uint32_t device, std::uint32_t except,
                                 std::string_view what) {
  bool any = false;
  for (std::uint32_t v = 0; v < models.size(); ++v) {
    BookEntry& e = models[v].on[device];
    const bool may = (e.state == ModelState::ready && e.leases == 0) ||
                     (e.state == ModelState::sleeping && e.reserved != 0);
    if (v == except || !may || models[v].spec.pinned) continue;
    evict(now, v, device, what, except);
    any = true;
  }
  return any;
}

bool ModelBook::out_of_memory(std::int64_t now, std::uint64_t lease) {
  Impl& b = *impl_;
  b.last_now = now;
  const auto at = b.leases.find(lease);
  if (at == b.leases.end()) return false;
  b.stats.ooms++;
  const BookLease l = at->second;
  const bool any = b.evict_idle(now, l.device, l.model, "out_of_memory");
  b.note(now, l.model, l.device, "out_of_memory", kNoModel,
         fmt::format("{} ran out of memory at work; {}", b.models[l.model].spec.name,
                     any ? "what was not in use was evicted" : "there was nothing to evict"));
  b.decide(now);
  return any;
}

void ModelBook::finished(std::int64_t now, const ModelAction& action,
                         const ActionOutcome& outcome) {
  Impl& b = *impl_;
  b.last_now = now;
  BookModel& m = b.models[action.model];
  BookEntry& e = m.on[action.device];
  switch (action.kind) {
    case ModelAction::Kind::load:
    case ModelAction::Kind::wake:
      b.load_ended(now, action.model, action.device, outcome);
      break;
    case ModelAction::Kind::sleep:
      if (outcome.kind == ActionOutcome::Kind::ok) {
        e.state = ModelState::sleeping;
        b.reserve(action.model, action.device, m.spec.sleep[action.level - 1].device_bytes);
      } else {  // then it goes altogether
        b.note(now, action.model, action.device, "failed", kNoModel,
               fmt::format("{} could not be put to sleep ({}) and is unloaded", m.spec.name,
                           outcome.message));
        b.reserve_host(e, 0);
        e.state = ModelState::ready;
        e.leaving = true;
        b.evict(now, action.model, action.device, "failed", kNoModel);
      }
      e.changed_at = now;
      e.draining = false;
      break;
    case ModelAction::Kind::unload:
      if (outcome.kind != ActionOutcome::Kind::ok) {
        b.note(now, action.model, action.device, "failed", kNoModel,
               fmt::format("{}: its unload failed: {}", m.spec.name, outcome.message));
      }
      b.reserve(action.model, action.device, 0);
      b.reserve_host(e, 0);
      e = BookEntry{};
      e.changed_at = now;
      break;
    default:
      break;
  }
  b.decide(now);
}

void ModelBook::Impl::load_ended(std::int64_t now, std::uint32_t model, std::uint32_t device,
                                 const ActionOutcome& outcome) {
  BookModel& m = models[model];
  BookEntry& e = m.on[device];
  const bool woke = e.state == ModelState::waking;
  const std::int64_t took = outcome.took_ns > 0 ? outcome.took_ns : now - e.changed_at;
  stats.load_ns += took;
  if (!woke) reading--;
  if (outcome.kind == ActionOutcome::Kind::ok) {
    if (outcome.bytes != 0 && !woke) {
      m.learned = std::max(m.learned, outcome.bytes);
      reserve(model, device, outcome.bytes);
    }
    std::int64_t& measured = woke ? m.wake_ns : m.load_ns;
    measured = smoothed_ns(measured, took);
    reserve_host(e, 0);
    e.state = ModelState::ready;
    e.level = 0;
    e.ready_at = e.changed_at = e.last_used = now;
    m.failures = 0;
    m.retry_at = m.prefetch_until = 0;
    m.failure.clear();
    return;
  }
  if (woke) {  // what slept is of no use any more: load it anew
    note(now, model, device, "failed", kNoModel,
         fmt::format("{} could not be woken: {}", m.spec.name, outcome.message));
    e.state = ModelState::ready;
    e.leaving = true;
    evict(now, model, device, "failed", kNoModel);
    return;
  }
  reserve(model, device, 0);
  const bool second = e.oom_retry;
  e = BookEntry{};
  e.changed_at = now;
  if (outcome.kind == ActionOutcome::Kind::aborted) {
    note(now, model, device, "aborted", kNoModel,
         fmt::format("{}: nobody waited for it any more", m.spec.name));
    return;
  }
  if (outcome.kind == ActionOutcome::Kind::failed) {
    e.state = ModelState::failed;
    load_failed(now, model, outcome.message);
    fail_all(now, model, LeaseRefusal::broken,
             {ErrorCode::io,
              fmt::format("model {} could not be loaded: {}", m.spec.name, outcome.message)});
    return;
  }
  stats.ooms++;
  if (!second) {
    load_out_of_memory(now, model, device, outcome.message);
    return;
  }
  e.state = ModelState::failed;
  load_failed(now, model, "out of memory, twice: " + outcome.message);
  fail_all(now, model, LeaseRefusal::no_room,
           no_room(model,
                   "out of memory while it was loaded, also after all was evicted that was "
                   "not in use: " +
                       outcome.message));
}

// Everything that may go does, and the load is tried once more.
void ModelBook::Impl::load_out_of_memory(std::int64_t now, std::uint32_t model,
                                         std::uint32_t device, const std::string& message) {
  stats.oom_retries++;
  note(now, model, device, "out_of_memory", kNoModel,
       fmt::format("{} ran out of memory while it was loaded ({}); what is not in use goes, and it "
                   "is tried once more",
                   models[model].spec.name, message));
  evict_idle(now, device, model, "out_of_memory");
  devices[device].target = model;
  devices[device].target_retry = true;
}

void ModelBook::Impl::load_failed(std::int64_t now, std::uint32_t model,
                                  const std::string& message) {
  BookModel& m = models[model];
  stats.load_failures++;
  const std::int64_t grown =
      m.failures < 30 ? options.backoff_ns << m.failures : options.backoff_max_ns;
  m.failures++;
  m.retry_at = now + std::clamp<std::int64_t>(grown, 1, options.backoff_max_ns);
  m.failure = message;
  m.prefetch_until = 0;
  note(now, model, kAnyDevice, "failed", kNoModel,
       fmt::format("{}: {}; not tried again for {:.1f} s", m.spec.name, message,
                   static_cast<double>(m.retry_at - now) / 1e9));
}

// A load that nobody waits for any more. If it ends well all the same, the model is kept.
void ModelBook::Impl::abort_unwanted(std::int64_t now) {
  for (std::uint32_t model = 0; model < models.size(); ++model) {
    BookModel& m = models[model];
    if (m.prefetch_until > now || m.spec.pinned) continue;
    for (std::uint32_t d = 0; d < devices.size(); ++d) {
      BookEntry& e = m.on[d];
      if (e.state != ModelState::loading || e.aborting || wanted_on(m, d)) continue;
      e.aborting = true;
      stats.aborts++;
      ModelAction action;
      action.kind = ModelAction::Kind::abort;
      action.model = model;
      action.device = d;
      actions.push_back(std::move(action));
    }
  }
}

void ModelBook::tick(std::int64_t now) {
  impl_->last_now = now;
  impl_->decide(now);
}
std::int64_t ModelBook::next_time() const { return impl_->next_time(); }
std::vector<ModelAction> ModelBook::take_actions() { return std::exchange(impl_->actions, {}); }
std::size_t ModelBook::model_count() const { return impl_->models.size(); }
std::size_t ModelBook::device_count() const { return impl_->devices.size(); }
const std::string& ModelBook::model_name(std::uint32_t model) const {
  return impl_->models[model].spec.name;
}
const std::string& ModelBook::device_name(std::uint32_t device) const {
  return impl_->devices[device].spec.name;
}
Ledger ModelBook::ledger() const { return impl_->ledger(); }
std::vector<WhyEntry> ModelBook::why() const { return {impl_->log.begin(), impl_->log.end()}; }
BookStats ModelBook::stats() const {
  BookStats stats = impl_->stats;
  stats.waiting = impl_->waiting.size();
  stats.leases = impl_->leases.size();
  return stats;
}

}  // namespace genscope::optimize

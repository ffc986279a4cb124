// What to load, what to evict for it, and when.
//
// The idea. A swap costs seconds, a request on a model that is in memory costs none, so requests
// are served by model, not as they came. Left alone that starves whoever needs a swap; with a plain
// limit on the wait it becomes first-come-first-served exactly when there is most to do, and then
// most time goes into loading. Two rules avoid both:
//   residency  A model stays for at least 4 x its load time while it is asked for, so that loading
//              takes a bounded share of the time whatever the queue looks like.
//   overdue    A request that waited for 4 x the longest load may have whatever is past its
//              residency. If that is leased, no new lease is given on it (draining).
// Where loads run beside the work, a swap is made as soon as all that must go is past its residency
// or not in demand. Where a load stops the work (`load_stops_work`), it is made when nobody waits
// for what is in memory, or when somebody is overdue.
//
// Which model next: overdue ones by age; else by priority, then by seconds waited per second of
// work to serve them. Which ones go: the least worth (ledger.cc), taken in order until there is
// room, less what turned out not to be needed. A worthless model is never skipped for one that is
// past its residency: to wait a little is cheaper than to throw out what is in demand.
//
// Cost: a decision looks at each model once a device, models x log(models) to sort; requests are
// only counted. Termination: each round of decide() starts a transfer, answers a request or stops.
#include <fmt/format.h>

#include "optimize/models/book.h"

namespace genscope::optimize {

void ModelBook::Impl::decide(std::int64_t now) {
  expire(now);
  for (bool changed = true; changed;) {
    changed = settle_impossible(now);
    for (std::uint32_t d = 0; d < devices.size(); ++d) {
      changed |= shrink(now, d);
      changed |= follow_target(now, d);
      changed |= plan_load(now, d);
      changed |= grant(now, d);
    }
    if (!changed) {
      for (std::uint32_t d = 0; d < devices.size(); ++d) changed |= plan_prefetch(now, d);
    }
    changed |= idle_out(now);
  }
  abort_unwanted(now);
}

void ModelBook::Impl::expire(std::int64_t now) {
  while (!deadlines.empty() && deadlines.begin()->first <= now) {
    const std::uint64_t id = deadlines.begin()->second;
    const BookModel& m = models[waiting.at(id).model];
    stats.expired++;
    answer_fail(now, id, LeaseRefusal::deadline,
                {ErrorCode::io, fmt::format("model {}: the deadline came before it was ready ({} "
                                            "requests for it wait)",
                                            m.spec.name, m.waiting.size())});
  }
}

bool ModelBook::Impl::plan_load(std::int64_t now, std::uint32_t device) {
  BookDevice& d = devices[device];
  if (d.target != kNoModel || transferring(device)) return false;
  const bool stops = d.spec.load_stops_work;
  for (const std::uint32_t model : targets(now, device)) {
    const bool late = overdue(now, model, device);
    if (!fits_ever(model, device)) continue;
    if (stops && d.leases != 0 && (d.spec.slots == 1 || !late)) return false;
    Victims plan = victims(now, model, device, false);
    bool go = plan.possible;
    switch (options.order) {
      case QueueOrder::fifo:
        break;
      case QueueOrder::collate:
        go = go && (late || !residents_wanted(device));
        break;
      case QueueOrder::collate_residency:
        go = go && (plan.settled || !residents_wanted(device));
        break;
      case QueueOrder::drain:
        if (late && !plan.possible) {
          plan = victims(now, model, device, true);
          go = plan.possible;
        }
        if (stops) {
          go = go && (!residents_wanted(device) || (late && plan.settled));
        } else {
          go = go && plan.settled;
        }
        break;
    }
    if (go) {
      make_room(now, model, device, plan);
      return true;
    }
    if (late) return false;  // nobody takes what it waits for
  }
  return false;
}

void ModelBook::Impl::make_room(std::int64_t now, std::uint32_t model, std::uint32_t device,
                                const Victims& plan) {
  BookDevice& d = devices[device];
  d.target = model;
  d.target_retry = false;
  for (const std::uint32_t v : plan.models) {
    models[v].on[device].draining = true;
    if (models[v].on[device].leases == 0) evict(now, v, device, "evicted", model);
  }
  follow_target(now, device);
}

void ModelBook::Impl::drop_target(std::uint32_t device) {
  devices[device].target = kNoModel;
  for (BookModel& m : models) m.on[device].draining = false;
}

// Loads the target when all that had to go has gone.
bool ModelBook::Impl::follow_target(std::int64_t now, std::uint32_t device) {
  BookDevice& d = devices[device];
  if (d.target == kNoModel) return false;
  const std::uint32_t model = d.target;
  const BookModel& m = models[model];
  const bool wanted = wanted_on(m, device) || m.prefetch_until > now;
  if (!wanted || !fits_ever(model, device)) {
    drop_target(device);
    return true;
  }
  bool going = false;
  for (std::uint32_t v = 0; v < models.size(); ++v) {
    BookEntry& e = models[v].on[device];
    if (e.draining && e.state == ModelState::ready && e.leases == 0) {
      evict(now, v, device, "evicted", model);
    }
    going |= e.draining && e.state == ModelState::ready;
    going |= e.state == ModelState::unloading || e.state == ModelState::falling_asleep;
  }
  if (going || (d.spec.load_stops_work && d.leases != 0) || transferring(device)) return false;
  const ModelState state = m.on[device].state;
  const bool retry = d.target_retry;
  const bool startable = may_load(now, model, device);
  if (!startable && (state == ModelState::absent || state == ModelState::failed) &&
      m.retry_at <= now) {
    return false;  // until a reader is free
  }
  drop_target(device);
  if (!startable || needed(model, device) > room(device)) return true;  // planned anew
  start_load(now, model, device, retry);
  return true;
}

void ModelBook::Impl::start_load(std::int64_t now, std::uint32_t model, std::uint32_t device,
                                 bool retry) {
  BookModel& m = models[model];
  BookEntry& e = m.on[device];
  const bool unknown = m.learned == 0 && m.spec.bytes == 0;
  const std::uint64_t more = unknown ? room(device) : needed(model, device);
  reserve(model, device, e.reserved + more);
  ModelAction action;
  action.model = model;
  action.device = device;
  action.bytes = e.reserved;
  if (e.state == ModelState::sleeping) {
    action.kind = ModelAction::Kind::wake;
    action.level = e.level;
    e.state = ModelState::waking;
    stats.wakes++;
  } else {
    e.state = ModelState::loading;
    e.level = 0;
    reading++;
    stats.loads++;
  }
  e.changed_at = now;
  e.oom_retry = retry;
  e.aborting = e.leaving = e.draining = false;
  m.elsewhere = 0;
  if (m.waiting.empty()) stats.prefetches++;
  actions.push_back(std::move(action));
}

void ModelBook::Impl::evict(std::int64_t now, std::uint32_t model, std::uint32_t device,
                            std::string_view what, std::uint32_t for_model) {
  BookModel& m = models[model];
  BookEntry& e = m.on[device];
  const std::uint32_t level = sleep_level(m, e);
  ModelAction action;
  action.model = model;
  action.device = device;
  note(now, model, device, level != 0 ? "slept" : what, for_model,
       fmt::format("{} {} {}{}: not used for {:.1f} s, in memory for {:.1f} s, {:.1f} uses lately, "
                   "{:.1f} s to load again",
                   m.spec.name, level != 0 ? "was put to sleep on" : "left",
                   devices[device].spec.name,
                   for_model != kNoModel ? " for " + models[for_model].spec.name : "",
                   static_cast<double>(now - e.last_used) / 1e9,
                   static_cast<double>(now - e.ready_at) / 1e9, use_now(m, now),
                   static_cast<double>(load_time(model, device)) / 1e9));
  if (what == "evicted") stats.evictions++;
  if (level != 0) {
    action.kind = ModelAction::Kind::sleep;
    action.level = level;
    reserve_host(e, m.spec.sleep[level - 1].host_bytes);
    e.state = ModelState::falling_asleep;
    e.level = level;
    stats.sleeps++;
  } else {
    action.kind = ModelAction::Kind::unload;
    e.state = ModelState::unloading;
    stats.unloads++;
  }
  e.changed_at = now;
  actions.push_back(std::move(action));
}

bool ModelBook::Impl::grant(std::int64_t now, std::uint32_t device) {
  BookDevice& d = devices[device];
  bool any = false;
  for (;;) {
    if (d.spec.slots != 0 && d.leases >= d.spec.slots) return any;
    if (d.spec.load_stops_work && (d.target != kNoModel || transferring(device))) return any;
    std::pair<int, std::uint64_t> best{0, 0};
    for (const BookModel& m : models) {
      if (m.waiting.empty() || !m.on[device].resident()) continue;
      const std::uint64_t id = first_for(m, device);
      if (id == 0) continue;
      const std::pair<int, std::uint64_t> key{-waiting.at(id).priority, id};
      if (best.second == 0 || key < best) best = key;
    }
    if (best.second == 0) return any;
    if (options.order == QueueOrder::fifo && best.second != waiting.begin()->first) return any;
    answer_grant(now, best.second, device);
    any = true;
  }
}

// Above the budget: what may go does, the least worth first.
bool ModelBook::Impl::shrink(std::int64_t now, std::uint32_t device) {
  bool any = false;
  std::uint64_t going = 0;
  for (const BookModel& m : models) {
    const BookEntry& e = m.on[device];
    if (e.state == ModelState::unloading) going += e.reserved;
    if (e.state == ModelState::falling_asleep) {
      going += e.reserved - m.spec.sleep[e.level - 1].device_bytes;
    }
  }
  while (devices[device].reserved - going > budget(device)) {
    std::uint32_t worst = kNoModel;
    for (std::uint32_t v = 0; v < models.size(); ++v) {
      const BookEntry& e = models[v].on[device];
      const bool may = (e.state == ModelState::ready && e.leases == 0) ||
                       (e.state == ModelState::sleeping && e.reserved != 0);
      if (!may || models[v].spec.pinned) continue;
      if (worst == kNoModel || worth(now, v, device) < worth(now, worst, device)) worst = v;
    }
    if (worst == kNoModel) return any;
    going += freed_by_eviction(models[worst], models[worst].on[device]);
    evict(now, worst, device, "evicted", kNoModel);
    any = true;
  }
  return any;
}

bool ModelBook::Impl::plan_prefetch(std::int64_t now, std::uint32_t device) {
  BookDevice& d = devices[device];
  if (d.target != kNoModel || transferring(device)) return false;
  if (d.spec.load_stops_work && (d.leases != 0 || !waiting.empty())) return false;
  for (std::uint32_t model = 0; model < models.size(); ++model) {
    BookModel& m = models[model];
    if (m.prefetch_until <= now || !may_load(now, model, device) || !fits_ever(model, device)) {
      continue;
    }
    if (m.prefetch_device != kAnyDevice ? m.prefetch_device != device
                                        : home(now, model) != device) {
      continue;
    }
    const Victims plan = victims(now, model, device, false);
    // Never for a guess: what somebody waits for, or what is worth more.
    const bool harmless = std::all_of(plan.models.begin(), plan.models.end(), [&](std::uint32_t v) {
      return models[v].waiting.empty() && settled(now, v, device);
    });
    if (!plan.possible || !harmless) continue;
    make_room(now, model, device, plan);
    return true;
  }
  return false;
}

bool ModelBook::Impl::idle_out(std::int64_t now) {
  bool any = false;
  for (std::uint32_t model = 0; model < models.size(); ++model) {
    BookModel& m = models[model];
    for (std::uint32_t d = 0; d < devices.size(); ++d) {
      BookEntry& e = m.on[d];
      const bool there = e.state == ModelState::ready || e.state == ModelState::sleeping;
      if (!there || e.leases != 0 || wanted_on(m, d)) continue;
      const bool idle = m.spec.keep_alive_ns > 0 && !m.spec.pinned &&
                        now - std::max(e.last_used, e.ready_at) >= m.spec.keep_alive_ns;
      if (!idle && !e.leaving) continue;
      const bool asked = e.leaving;
      e.leaving = true;
      evict(now, model, d, asked ? "asked" : "idle", kNoModel);
      any = true;
    }
  }
  return any;
}

// Requests that no waiting would help are told so.
bool ModelBook::Impl::settle_impossible(std::int64_t now) {
  bool any = false;
  for (std::uint32_t model = 0; model < models.size(); ++model) {
    BookModel& m = models[model];
    if (m.waiting.empty()) continue;
    if (m.retry_at > now) {  // it is known to be broken
      bool anywhere = false;
      for (const BookEntry& e : m.on) {
        anywhere |= e.state != ModelState::absent && e.state != ModelState::failed;
      }
      if (!anywhere) {
        fail_all(now, model, LeaseRefusal::broken,
                 {ErrorCode::io, fmt::format("model {} could not be loaded: {}. The next try is in "
                                             "{:.1f} s",
                                             m.spec.name, m.failure,
                                             static_cast<double>(m.retry_at - now) / 1e9)});
        any = true;
        continue;
      }
    }
    std::vector<std::uint64_t> hopeless;
    for (const auto& [_, id] : m.waiting) {
      const std::uint32_t only = waiting.at(id).device;
      bool possible = false;
      for (std::uint32_t d = 0; d < devices.size() && !possible; ++d) {
        if (only != kAnyDevice && only != d) continue;
        const ModelState state = m.on[d].state;
        possible = state == ModelState::ready || state == ModelState::loading ||
                   state == ModelState::waking || fits_ever(model, d);
      }
      if (!possible) hopeless.push_back(id);
    }
    for (const std::uint64_t id : hopeless) {
      answer_fail(now, id, LeaseRefusal::no_room,
                  no_room(model, "it does not fit, even if all went that is not pinned"));
      any = true;
    }
  }
  return any;
}

std::int64_t ModelBook::Impl::next_time() const {
  std::int64_t next = deadlines.empty() ? kNever : deadlines.begin()->first;
  const auto at = [&](std::int64_t time) {  // what was due before was looked at then
    if (time > last_now) next = std::min(next, time);
  };
  const std::int64_t late = patience();
  const bool anybody = !waiting.empty() || std::any_of(models.begin(), models.end(), [&](auto& m) {
    return m.prefetch_until > last_now;
  });
  for (std::uint32_t model = 0; model < models.size(); ++model) {
    const BookModel& m = models[model];
    for (std::uint32_t d = 0; d < devices.size(); ++d) {
      const BookEntry& e = m.on[d];
      const bool there = e.state == ModelState::ready || e.state == ModelState::sleeping;
      if (there && m.spec.keep_alive_ns > 0 && !m.spec.pinned && e.leases == 0) {
        at(std::max(e.last_used, e.ready_at) + m.spec.keep_alive_ns);
      }
      if (e.state != ModelState::ready || !anybody) continue;
      const std::int64_t load = load_time(model, d);
      const std::int64_t stays = e.ready_at + static_cast<std::int64_t>(options.residency_factor *
                                                                        static_cast<double>(load));
      at(stays);
      at(m.use_at + 2 * m.gap_ns);
    }
    if (!m.arrivals.empty()) {
      at(waiting.at(*m.arrivals.begin()).arrival + late);
      at(m.retry_at);
    }
  }
  return next;
}

}  // namespace genscope::optimize

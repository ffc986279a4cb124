// Who is next, who goes for it, and where: questions that change nothing. The rules are told in
// plan.cc, which acts on them.
#include "optimize/models/book.h"

namespace genscope::optimize {

// The next request for the model that this device may serve; 0: none.
std::uint64_t ModelBook::Impl::first_for(const BookModel& model, std::uint32_t device) const {
  for (const auto& [_, id] : model.waiting) {
    const std::uint32_t wanted = waiting.at(id).device;
    if (wanted == kAnyDevice || wanted == device) return id;
  }
  return 0;
}

bool ModelBook::Impl::wanted_on(const BookModel& model, std::uint32_t device) const {
  return first_for(model, device) != 0;
}

bool ModelBook::Impl::transferring(std::uint32_t device) const {
  return std::any_of(models.begin(), models.end(), [&](const BookModel& m) {
    const ModelState state = m.on[device].state;
    return state == ModelState::loading || state == ModelState::waking;
  });
}

bool ModelBook::Impl::residents_wanted(std::uint32_t device) const {
  return std::any_of(models.begin(), models.end(), [&](const BookModel& m) {
    return m.on[device].resident() && wanted_on(m, device);
  });
}

std::int64_t ModelBook::Impl::patience() const {
  if (options.patience_ns > 0) return options.patience_ns;
  std::int64_t longest = 0;
  for (std::uint32_t m = 0; m < models.size(); ++m) {
    for (std::uint32_t d = 0; d < devices.size(); ++d) longest = std::max(longest, load_time(m, d));
  }
  return static_cast<std::int64_t>(options.residency_factor * static_cast<double>(longest));
}

bool ModelBook::Impl::overdue(std::int64_t now, std::uint32_t model, std::uint32_t device) const {
  const BookModel& m = models[model];
  for (const std::uint64_t id : m.arrivals) {
    const BookRequest& r = waiting.at(id);
    if (r.device != kAnyDevice && r.device != device) continue;
    return now - r.arrival >= patience();
  }
  return false;
}

// Whether it may go. In demand: asked for again, on average, before it could be loaded again.
bool ModelBook::Impl::settled(std::int64_t now, std::uint32_t model, std::uint32_t device) const {
  const BookModel& m = models[model];
  const BookEntry& e = m.on[device];
  if (e.state == ModelState::sleeping) return true;
  const std::int64_t load = load_time(model, device);
  if (now - e.ready_at >=
      static_cast<std::int64_t>(options.residency_factor * static_cast<double>(load))) {
    return true;
  }
  if (devices[device].spec.load_stops_work || !m.waiting.empty() || e.leases != 0) return false;
  return m.gap_ns == 0 || m.gap_ns >= load || now - m.use_at >= 2 * m.gap_ns;
}

ModelBook::Impl::Victims ModelBook::Impl::victims(std::int64_t now, std::uint32_t model,
                                                  std::uint32_t device, bool with_leased) const {
  Victims plan;
  // Below zero while it is above the budget.
  const auto bytes = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  std::int64_t have = bytes(budget(device)) - bytes(devices[device].reserved);
  std::uint32_t in_group = 0;
  std::vector<std::uint32_t> may_go;
  const std::string& group = models[model].spec.group;
  for (std::uint32_t other = 0; other < models.size(); ++other) {
    const BookModel& m = models[other];
    const BookEntry& e = m.on[device];
    if (other == model) continue;
    const bool going = e.state == ModelState::unloading || e.state == ModelState::falling_asleep;
    if (going) {
      have += bytes(e.reserved);
      if (e.state == ModelState::falling_asleep) {
        have -= bytes(m.spec.sleep[e.level - 1].device_bytes);
      }
    }
    const bool there = e.state == ModelState::ready || e.state == ModelState::loading ||
                       e.state == ModelState::waking;
    if (there && !group.empty() && m.spec.group == group) in_group++;
    if (e.state != ModelState::ready && (e.state != ModelState::sleeping || e.reserved == 0))
      continue;
    if (m.spec.pinned || (e.leases != 0 && !with_leased)) continue;
    may_go.push_back(other);
  }
  std::stable_sort(may_go.begin(), may_go.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int pa = models[a].spec.priority, pb = models[b].spec.priority;
    return pa != pb ? pa < pb : worth(now, a, device) < worth(now, b, device);
  });
  const auto freed = [&](std::uint32_t v) {
    return bytes(freed_by_eviction(models[v], models[v].on[device]));
  };
  // First the group's own limit, then bytes.
  std::uint32_t too_many = in_group >= options.group_limit ? in_group - options.group_limit + 1 : 0;
  std::vector<std::uint32_t> chosen, forced;
  for (const std::uint32_t v : may_go) {
    if (too_many == 0 || models[v].spec.group != group ||
        models[v].on[device].state != ModelState::ready) {
      continue;
    }
    forced.push_back(v);
    have += freed(v);
    too_many--;
  }
  if (too_many > 0) return plan;
  const std::int64_t need = bytes(needed(model, device));
  for (const std::uint32_t v : may_go) {
    if (have >= need) break;
    if (std::find(forced.begin(), forced.end(), v) != forced.end()) continue;
    chosen.push_back(v);
    have += freed(v);
  }
  if (have < need) return plan;
  for (std::size_t i = chosen.size(); i-- > 0;) {
    if (have - freed(chosen[i]) < need) continue;
    have -= freed(chosen[i]);
    chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
  }
  plan.models = std::move(forced);
  plan.models.insert(plan.models.end(), chosen.begin(), chosen.end());
  plan.possible = true;
  for (const std::uint32_t v : plan.models) {
    plan.leased |= models[v].on[device].leases != 0;
    plan.settled &= settled(now, v, device);
  }
  return plan;
}

// Of those who wait and are not here, who comes first.
std::vector<std::uint32_t> ModelBook::Impl::targets(std::int64_t now, std::uint32_t device) const {
  std::vector<std::uint32_t> list;
  if (options.order != QueueOrder::drain) {  // the head of the queue, or nobody
    for (const auto& [id, r] : waiting) {
      if (r.device != kAnyDevice && r.device != device) continue;
      if (!models[r.model].on[device].resident() && may_load(now, r.model, device)) {
        list.push_back(r.model);
      }
      return list;
    }
    return list;
  }
  struct Rank {
    bool late;
    int priority;
    double score;
  };
  std::map<std::uint32_t, Rank> ranks;
  for (std::uint32_t m = 0; m < models.size(); ++m) {
    const BookModel& model = models[m];
    const std::uint64_t first = model.waiting.empty() ? 0 : first_for(model, device);
    if (first == 0 || !may_load(now, m, device)) continue;
    const bool asked_here = waiting.at(first).device == device;
    if (!asked_here && home(now, m) != device) continue;
    const bool late = overdue(now, m, device);
    const auto count = static_cast<double>(model.waiting.size());
    const double waited = count * static_cast<double>(now) / 1e9 - model.arrival_sum;
    const double cost = static_cast<double>(arrival_cost(m, device) + model.service_ns) / 1e9;
    // Late: by age of the oldest. The id of a request is its age.
    const double score =
        late ? -static_cast<double>(*model.arrivals.begin()) : waited / std::max(cost, 1e-9);
    ranks[m] = {late, waiting.at(first).priority, score};
    list.push_back(m);
  }
  std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Rank &x = ranks.at(a), &y = ranks.at(b);
    if (x.late != y.late) return x.late;
    if (!x.late && x.priority != y.priority) return x.priority > y.priority;
    return x.score > y.score;
  });
  return list;
}

bool ModelBook::Impl::may_load(std::int64_t now, std::uint32_t model, std::uint32_t device) const {
  const BookModel& m = models[model];
  const ModelState state = m.on[device].state;
  if (state == ModelState::sleeping) return true;
  if (state != ModelState::absent && state != ModelState::failed) return false;
  return m.retry_at <= now && reading < options.disk_readers;
}

// Nanoseconds until a device would begin on a request that came now, as far as known.
double ModelBook::Impl::backlog_ns(std::int64_t now, std::uint32_t device) const {
  double work = 0, loading = 0;
  for (std::uint32_t model = 0; model < models.size(); ++model) {
    const BookModel& m = models[model];
    const BookEntry& e = m.on[device];
    if (e.state == ModelState::loading || e.state == ModelState::waking) {
      loading += static_cast<double>(
          std::max<std::int64_t>(0, arrival_cost(model, device) - (now - e.changed_at)));
    }
    if (devices[device].target == model)
      loading += static_cast<double>(arrival_cost(model, device));
    if (e.state != ModelState::ready) continue;
    double copies = 0;
    for (const BookEntry& other : m.on) copies += other.state == ModelState::ready ? 1 : 0;
    work += (static_cast<double>(m.waiting.size()) / copies + e.leases / 2.0) *
            static_cast<double>(m.service_ns);
  }
  const std::uint32_t slots = devices[device].spec.slots;
  return (slots == 0 ? 0 : work / slots) + loading;
}

// Where a model that somebody waits for should come. A model that is somewhere stays there, until
// another device would have served sooner several times in a row.
std::uint32_t ModelBook::Impl::home(std::int64_t now, std::uint32_t model) const {
  const BookModel& m = models[model];
  std::uint32_t best = kAnyDevice;
  double best_finish = 0;
  bool somewhere = false;
  for (std::uint32_t d = 0; d < devices.size(); ++d) {
    const BookEntry& e = m.on[d];
    if (e.resident() || e.state == ModelState::loading || e.state == ModelState::waking) {
      somewhere = true;
      continue;
    }
    if (!fits_ever(model, d)) continue;
    const Victims plan = victims(now, model, d, true);
    double finish = backlog_ns(now, d) + static_cast<double>(arrival_cost(model, d));
    for (const std::uint32_t v : plan.models) finish += static_cast<double>(load_time(v, d));
    if (best == kAnyDevice || finish < best_finish ||
        (finish == best_finish && room(d) > room(best))) {
      best = d;
      best_finish = finish;
    }
  }
  return somewhere && m.elsewhere < options.replicate_after ? kAnyDevice : best;
}

}  // namespace genscope::optimize

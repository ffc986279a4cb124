// Deficit round robin (Shreedhar, Varghese 1995): a tenant whose turn comes gets a quantum of cost
// to spend and keeps what it does not spend; with many small or few large requests it so gets the
// same share. Where a whole round serves nobody, the rounds until somebody can be served are added
// at once, so that a pick is linear in the tenants that wait, not in the cost.
#include "optimize/async/fair_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <genscope/internal/optimize/async/context.h>

namespace genscope::optimize::internal {
namespace {

constexpr double kQuantum = 1;

std::size_t class_of(const Queued& item) noexcept {
  return static_cast<std::size_t>(std::clamp(item.priority, kLowestPriority, kHighestPriority) -
                                  kLowestPriority);
}

}  // namespace

void FairQueue::push(Queued& item) {
  Class& waiting = classes_[class_of(item)];
  const auto place = waiting.tenants.try_emplace(*item.tenant);
  Tenant& tenant = place.first->second;
  if (place.second) {
    tenant.self = place.first;
    const auto weight = weights_.find(*item.tenant);
    if (weight != weights_.end()) tenant.weight = weight->second;
    waiting.turns.push_back(&tenant);
  }
  item.of = &tenant;
  item.before_in_tenant = tenant.last;
  item.after_in_tenant = nullptr;
  (tenant.last != nullptr ? tenant.last->after_in_tenant : tenant.first) = &item;
  tenant.last = &item;
  item.older = waiting.newest;
  item.newer = nullptr;
  (waiting.newest != nullptr ? waiting.newest->newer : waiting.oldest) = &item;
  waiting.newest = &item;
  item.in_queue = true;
  ++size_;
}

void FairQueue::unlink(Class& waiting, Queued& item) noexcept {
  Tenant& tenant = *item.of;
  (item.before_in_tenant != nullptr ? item.before_in_tenant->after_in_tenant : tenant.first) =
      item.after_in_tenant;
  (item.after_in_tenant != nullptr ? item.after_in_tenant->before_in_tenant : tenant.last) =
      item.before_in_tenant;
  (item.older != nullptr ? item.older->newer : waiting.oldest) = item.newer;
  (item.newer != nullptr ? item.newer->older : waiting.newest) = item.older;
  item.in_queue = false;
  if (tenant.first == nullptr) {
    waiting.turns.erase(std::find(waiting.turns.begin(), waiting.turns.end(), &tenant));
    waiting.tenants.erase(tenant.self);
  }
}

void FairQueue::remove(Queued& item) noexcept {
  unlink(classes_[class_of(item)], item);
  --size_;
}

void FairQueue::pop(Queued& item) noexcept {
  item.of->deficit -= item.cost;
  remove(item);
}

Queued* FairQueue::next_in(Class& waiting) {
  for (std::size_t looked = 0; looked <= waiting.turns.size(); ++looked) {
    Tenant& tenant = *waiting.turns.front();
    if (!tenant.had_turn) {
      tenant.deficit += kQuantum * tenant.weight;
      tenant.had_turn = true;
    }
    if (tenant.first->cost <= tenant.deficit) return tenant.first;
    tenant.had_turn = false;
    waiting.turns.pop_front();
    waiting.turns.push_back(&tenant);
  }
  double rounds = std::numeric_limits<double>::infinity();
  for (const Tenant* const tenant : waiting.turns) {
    rounds = std::min(
        rounds, std::ceil((tenant->first->cost - tenant->deficit) / (kQuantum * tenant->weight)));
  }
  for (Tenant* const tenant : waiting.turns) {
    tenant->deficit += (rounds - 1) * kQuantum * tenant->weight;
  }
  return next_in(waiting);
}

Queued* FairQueue::peek(std::int64_t now_ns) {
  int best = -1;
  std::int64_t best_level = 0, best_reached = 0;
  for (int i = 0; i < kClasses; ++i) {
    const Queued* const oldest = classes_[static_cast<std::size_t>(i)].oldest;
    if (oldest == nullptr) continue;
    std::int64_t level = i, reached = oldest->since_ns;
    if (aging_ns_ > 0 && now_ns > oldest->since_ns) {
      const std::int64_t risen =
          std::min<std::int64_t>((now_ns - oldest->since_ns) / aging_ns_, kClasses - 1 - i);
      level += risen;
      reached += risen * aging_ns_;
    }
    if (best < 0 || level > best_level || (level == best_level && reached <= best_reached)) {
      best = i;
      best_level = level;
      best_reached = reached;
    }
  }
  return best < 0 ? nullptr : next_in(classes_[static_cast<std::size_t>(best)]);
}

Queued* FairQueue::oldest() const noexcept {
  Queued* found = nullptr;
  for (const Class& waiting : classes_) {
    if (waiting.oldest == nullptr) continue;
    if (found == nullptr || waiting.oldest->since_ns < found->since_ns) found = waiting.oldest;
  }
  return found;
}

}  // namespace genscope::optimize::internal

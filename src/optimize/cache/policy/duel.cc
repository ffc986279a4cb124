// Every model replays the sampled requests with its own window; the one with the most hits lately
// names the window. That finds the best of the seven directly, where a climber that changes the
// window and watches the hit ratio mistakes a change of the load for an effect of its own, and may
// stop on the wrong side of a valley. An epoch is four times the entries; hits fade by 0.7 an
// epoch, so a new phase is seen after one or two. A change must gain more than noise and more than
// 0.4 points, for moving entries costs hits, too. A new cache decides each quarter of an epoch,
// until it is four epochs old.
//
// A sample errs where hits hang on a few entries more or less, as with keys that come back after
// just as many others as fit. So three epochs after the cache has filled the window, it is compared
// with the model on the same requests. What the model has too much, if that is above 3 points and
// noise, counts against it from then on, by 1 % less each epoch.
//
// Cost: a sampled request is 7 small lookups. A cache of 16,000 entries samples every 64th key, one
// of 256 entries or fewer all of them.
#include "optimize/cache/policy/duel.h"

#include <algorithm>
#include <cmath>

namespace genscope::optimize::cache {
namespace {

// More keys make a better estimate and cost more: a model has 256 entries or 1/64 of the cache's.
double model_entries(std::uint64_t entries) noexcept {
  return std::clamp(static_cast<double>(entries) / 64, 256.0, 2048.0);
}

constexpr unsigned kYoung = 16;  // quarters of an epoch
constexpr std::uint64_t kScale = std::uint64_t{1} << 24;

}  // namespace

Duel::Duel() { reset(1, 1); }

void Duel::reset(std::uint64_t capacity, std::uint64_t entries) {
  const double rate = std::min(
      1.0, model_entries(entries) / static_cast<double>(std::max<std::uint64_t>(entries, 1)));
  bound_ = static_cast<std::uint64_t>(rate * static_cast<double>(kScale));
  for (std::size_t at = 0; at < models_.size(); ++at) {
    Model& model = models_[at];
    model.cache = Segments();
    model.cache.set_capacity(std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(rate * static_cast<double>(capacity))));
    model.cache.set_window(kWindows[at]);
    const auto expected = static_cast<std::size_t>(2 * rate * static_cast<double>(entries)) + 64;
    model.index = HashIndex(expected);
    model.cache.reserve(expected);
    model.free.clear();
    model.free.reserve(expected);
    model.made = 0;
    model.hits = model.excess = 0;
  }
  asked_ = 0;
  quarters_ = 0;
  entries_ = rate * static_cast<double>(entries);
  start_comparing();
  left_ = quarter_ = std::max<std::int64_t>(125, static_cast<std::int64_t>(entries));
}

void Duel::access(const Item& item, std::uint32_t times, bool hit, const Sketch& sketch) {
  const auto count = [&](std::uint64_t hash) { return sketch.estimate(hash); };
  asked_ += times;
  const double before = models_[chosen_].hits;
  for (Model& model : models_) {
    Node node = model.index.find(item.hash);
    if (node != kNoNode) {
      model.cache.touch(node);
      model.hits += times;
      continue;
    }
    if (model.free.empty()) {
      node = model.made++;
    } else {
      node = model.free.back();
      model.free.pop_back();
    }
    model.hits += times - 1;
    model.index.insert(item.hash, node);
    model.cache.insert(node, item, count, [&](Node gone) {
      model.index.erase(model.cache.hash(gone));
      model.free.push_back(gone);
    });
  }
  if (filling_ > 0) {
    filling_ -= hit ? 0 : 1;
    return;
  }
  real_asked_ += times;
  real_hits_ += hit ? times : 0;
  promised_hits_ += models_[chosen_].hits - before;
}

bool Duel::decide() {
  left_ = quarter_;
  ++quarters_;
  const bool ends = quarters_ % 4 == 0;
  if (ends) compare_with_cache();
  std::size_t best = chosen_;
  for (std::size_t at = 0; at < models_.size(); ++at) {
    if (score(models_[at]) > score(models_[best])) best = at;
  }
  const double gain = score(models_[best]) - score(models_[chosen_]);
  const double noise = 0.5 * std::sqrt(asked_) * 0.5;
  const bool may = ends || quarters_ < kYoung;
  const bool change = may && best != chosen_ && gain > std::max(noise, 0.004 * asked_);
  if (ends) {
    for (Model& model : models_) {
      model.hits *= 0.7;
      model.excess *= 0.99;
    }
    for (double* const sum : {&asked_, &real_asked_, &real_hits_, &promised_hits_}) *sum *= 0.7;
  }
  if (!change) return false;
  chosen_ = best;
  start_comparing();
  return true;
}

void Duel::start_comparing() noexcept {
  real_asked_ = real_hits_ = promised_hits_ = 0;
  filling_ = entries_;
  compared_ = 0;
}

void Duel::compare_with_cache() noexcept {
  if (filling_ > 0 || ++compared_ < 3 || real_asked_ < 1) return;
  const double above = (promised_hits_ - real_hits_) / real_asked_;
  models_[chosen_].excess = above > 0.03 + 1 / std::sqrt(real_asked_) ? above : 0;
}

}  // namespace genscope::optimize::cache

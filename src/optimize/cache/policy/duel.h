// Which window would serve best: small models of the cache, one a window size, on a sample of keys.
//
// A model is the cache scaled down: it sees only keys whose hash falls below a bound and has that
// share of the capacity. Every model sees the same keys, so their hits can be compared although
// each is a rough estimate. Models share the real cache's sketch.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "optimize/cache/policy/hash_index.h"
#include "optimize/cache/policy/segments.h"
#include "optimize/cache/policy/sketch.h"

namespace genscope::optimize::cache {

class Duel {
 public:
  static constexpr std::array<double, 7> kWindows = {0.01, 0.04, 0.12, 0.3, 0.55, 0.8, 0.98};

  Duel();
  // Starts anew for a cache of that capacity which holds about so many entries.
  void reset(std::uint64_t capacity, std::uint64_t entries);

  bool samples(std::uint64_t hash) const noexcept { return (hash >> 40) < bound_; }
  // Requests for a key that samples() wants; `hit`: the cache itself had it.
  void access(const Item& item, std::uint32_t times, bool hit, const Sketch& sketch);
  // Whether a decision is due, so many requests after the last call.
  bool due(std::uint32_t times) noexcept { return (left_ -= times) <= 0; }
  // Whether window() changes by it.
  bool decide();
  double window() const noexcept { return kWindows[chosen_]; }

 private:
  struct Model {
    Segments cache;
    HashIndex index;
    std::vector<Node> free;
    Node made = 0;
    double hits = 0;    // of this epoch and, fading, those before
    double excess = 0;  // share of requests by which it was above the cache that followed it
  };
  double score(const Model& model) const noexcept { return model.hits - model.excess * asked_; }
  void compare_with_cache() noexcept;
  void start_comparing() noexcept;

  std::array<Model, kWindows.size()> models_;
  double entries_ = 1;                   // of a model
  std::uint64_t bound_ = 0;              // of the hash's upper 24 bits
  std::int64_t quarter_ = 0, left_ = 0;  // requests
  unsigned quarters_ = 0;                // since reset()
  unsigned compared_ = 0;                // epochs since the cache has filled this window
  double asked_ = 0;                     // sampled requests, fading like the hits
  // Since the cache has filled this window, fading: requests, its hits, those of the chosen model.
  double real_asked_ = 0, real_hits_ = 0, promised_hits_ = 0;
  double filling_ = 0;  // misses until then
  std::size_t chosen_ = 0;
};

}  // namespace genscope::optimize::cache

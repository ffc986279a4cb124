// The names that following a run needs: of stages, of arguments that count steps, and of what is
// said of samples.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "genscope/internal/word.h"
#include "trace/sample_names.h"

namespace genscope::store {

struct SiteInfo {
  std::string name;
  SpanKind kind = SpanKind::none;
  int total_rank = 0;  // 1 for the best key that says how many steps there are; 0: none of them
  enum class Tells : std::uint8_t { nothing, entity, series };
  Tells tells = Tells::nothing;  // of samples, as an event
};

class Sites {
 public:
  // `look_up` is called with a number that is not known, to define it if it can.
  explicit Sites(std::function<void(std::uint32_t)> look_up) : look_up_(std::move(look_up)) {}

  void define(std::uint32_t site, SpanKind kind, std::string_view name) {
    if (site > internal::kFieldMask) return;
    if (kind > SpanKind::function) kind = SpanKind::function;
    sites_.try_emplace(site, SiteInfo{std::string(name), kind, total_rank(name), tells(name)});
  }

  // Kind none and no name if nobody defined it.
  const SiteInfo& operator[](std::uint32_t site) {
    if (const auto it = sites_.find(site); it != sites_.end()) return it->second;
    look_up_(site);
    return known(site);
  }
  bool has(std::uint32_t site) const { return sites_.contains(site); }
  const SiteInfo& known(std::uint32_t site) const {
    const auto it = sites_.find(site);
    return it != sites_.end() ? it->second : unknown_;
  }

 private:
  static int total_rank(std::string_view name) noexcept {
    constexpr std::string_view kKeys[] = {"steps", "num_inference_steps", "total_steps", "total",
                                          "num_steps"};
    int rank = 1;
    for (const std::string_view key : kKeys) {
      if (name == key) return rank;
      rank++;
    }
    return 0;
  }

  static SiteInfo::Tells tells(std::string_view name) noexcept {
    if (!trace::is_sampler_event(name)) return SiteInfo::Tells::nothing;
    name.remove_prefix(trace::kSamplerEvents.size());
    return name == "entity"   ? SiteInfo::Tells::entity
           : name == "series" ? SiteInfo::Tells::series
                              : SiteInfo::Tells::nothing;
  }

  std::function<void(std::uint32_t)> look_up_;
  std::unordered_map<std::uint32_t, SiteInfo> sites_;
  SiteInfo unknown_;
};

}  // namespace genscope::store

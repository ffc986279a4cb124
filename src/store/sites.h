// The names that following a run needs: of stages, and of arguments that count steps.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "genscope/internal/word.h"

namespace genscope::store {

struct SiteInfo {
  std::string name;
  SpanKind kind = SpanKind::none;
  int total_rank = 0;  // 1 for the best key that says how many steps there are; 0: none of them
};

class Sites {
 public:
  // `refresh` is called when a number is not known: it was perhaps defined a moment ago.
  explicit Sites(std::function<void()> refresh) : refresh_(std::move(refresh)) {}

  void define(std::uint32_t site, SpanKind kind, std::string_view name) {
    if (site > internal::kFieldMask) return;
    if (kind > SpanKind::function) kind = SpanKind::function;
    sites_.try_emplace(site, SiteInfo{std::string(name), kind, total_rank(name)});
  }

  // Kind none and no name if nobody defined it.
  const SiteInfo& operator[](std::uint32_t site) {
    if (const auto it = sites_.find(site); it != sites_.end()) return it->second;
    refresh_();
    const auto it = sites_.find(site);
    return it != sites_.end() ? it->second : unknown_;
  }
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

  std::function<void()> refresh_;
  std::unordered_map<std::uint32_t, SiteInfo> sites_;
  SiteInfo unknown_;
};

}  // namespace genscope::store

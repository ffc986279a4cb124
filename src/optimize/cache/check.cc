// What a cache cannot be made of. Each message names the field and what would do.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "genscope/optimize/cache.h"

namespace genscope::optimize {
namespace {

Error wrong_option(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

Status check_floors(const std::vector<KindFloor>& floors) {
  double sum = 0;
  std::string all;
  std::set<std::string_view> kinds;
  for (const KindFloor& floor : floors) {
    if (!(floor.share > 0 && floor.share <= 1)) {
      return wrong_option(
          fmt::format("floors: the share of kind \"{}\" is {}; it is a share of the capacity, "
                      "above 0 and at most 1",
                      floor.kind, floor.share));
    }
    if (!kinds.insert(floor.kind).second)
      return wrong_option(
          fmt::format("floors: kind \"{}\" is there twice; give it one floor", floor.kind));
    sum += floor.share;
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", floor.kind, floor.share);
  }
  if (floors.size() > 100)
    return wrong_option(fmt::format("floors: {} kinds; 100 at most can have one", floors.size()));
  if (sum > 1 + 1e-9) {
    return wrong_option(fmt::format(
        "floors: the shares add up to {:.4g} of the capacity ({}); lower them to 1 or less", sum,
        all));
  }
  return Done{};
}

}  // namespace

Status Cache::check(const CacheOptions& options) {
  if (!(options.early_refresh >= 0 && std::isfinite(options.early_refresh))) {
    return wrong_option(fmt::format(
        "early_refresh is {}; it is 0 for none, 1 as usual, or a larger number to refresh earlier",
        options.early_refresh));
  }
  return check_floors(options.floors);
}

}  // namespace genscope::optimize

#include "report/thin.h"

#include <algorithm>

namespace genscope::report {

std::vector<std::vector<std::uint32_t>> readings_by_name(const Trace& trace) {
  std::vector<std::vector<std::uint32_t>> places(trace.names.size());
  for (std::uint32_t i = 0; i < trace.counters.size(); ++i) {
    places[trace.counters.name[i]].push_back(i);
  }
  return places;
}

std::vector<std::uint32_t> thinned(std::span<const std::uint32_t> places,
                                   std::span<const double> values, std::uint64_t points) {
  if (points == 0 || places.size() <= points) return {places.begin(), places.end()};
  const auto less = [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; };
  if (points == 1) return {*std::max_element(places.begin(), places.end(), less)};
  std::vector<std::uint32_t> kept;
  const std::size_t stretches = points / 2;  // fewer than places, so none is empty
  kept.reserve(2 * stretches);
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto begin = places.begin() + static_cast<std::ptrdiff_t>(places.size() * i / stretches);
    const auto end =
        places.begin() + static_cast<std::ptrdiff_t>(places.size() * (i + 1) / stretches);
    const auto [least, greatest] = std::minmax_element(begin, end, less);
    kept.push_back(*std::min(least, greatest));
    if (least != greatest) kept.push_back(*std::max(least, greatest));
  }
  return kept;
}

}  // namespace genscope::report

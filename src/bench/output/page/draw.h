// What the charts of the page share: places on an axis, ranges, and text of SVG.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/output/xml.h"

namespace genscope::bench::page {

inline constexpr double kChartWidth = 640;

// A value's place between two ends, in pixels.
struct Scale {
  double low = 0, high = 1, from = 0, to = 1;
  double operator()(double value) const {
    return from + (std::clamp(value, low, high) - low) / (high - low) * (to - from);
  }
};

struct Range {
  double low = 0, high = 0;
  bool any = false;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
  // A little air at both ends; never empty.
  void pad(double share) {
    double air = (high - low) * share;
    if (air <= 0) air = high != 0 ? std::fabs(high) * 0.01 : 1;
    low -= air;
    high += air;
  }
};

template <class... T>
void put(std::string& out, fmt::format_string<T...> format, T&&... values) {
  fmt::format_to(std::back_inserter(out), format, std::forward<T>(values)...);
}

inline std::string title(std::string_view text) { return "<title>" + xml_text(text) + "</title>"; }

// About `count` round values within [low, high].
std::vector<double> ticks(double low, double high, std::size_t count);
// Round in the unit in which that metric is shown: bytes count in 1024.
std::vector<double> ticks_of(std::string_view metric, double low, double high, std::size_t count);

}  // namespace genscope::bench::page

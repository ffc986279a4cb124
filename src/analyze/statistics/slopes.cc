// For many points: after Dillencourt, Mount and Netanyahu, "A randomized algorithm for slope
// selection" (1992), with exact counts where they sample again.
//
// A slope is below v exactly if the pair's residuals y - v x are out of order, so one merge sort
// counts the slopes below v. Random pairs give a first bracket of a few standard errors; within it
// the count is close to a straight line of v, and two cuts around the interpolated place shrink it
// a hundredfold; what is left is listed.
//
// Rounding: residuals are rounded, so a pair whose slope is v but for the rounding of y over the
// range of x may be counted as equal to v. That is the error of a result that many pairs share; any
// other is read from the list, where slopes are what they are.
#include "analyze/statistics/slopes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "analyze/statistics/doubles.h"
#include "analyze/statistics/inversions.h"

namespace genscope::stats {
namespace {

// Never -0.0.
double slope_of(const Point& a, const Point& b) noexcept { return (b.y - a.y) / (b.x - a.x) + 0.0; }

// splitmix64: the same sample at every call and on every machine.
class Draw {
 public:
  std::size_t below(std::size_t n) noexcept {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<std::size_t>((z ^ (z >> 31)) % n);
  }

 private:
  std::uint64_t state_ = 20260101;
};

double next_up(double value) noexcept {
  return std::nextafter(value, std::numeric_limits<double>::infinity());
}

// What to measure from: of values on one side of 0, the nearest to it. Then those with a large
// offset gain digits, and none loses any.
double origin_of(double least, double most) noexcept {
  return least > 0 ? least : most < 0 ? most : 0;
}

// y - slope x of each point; divided by |slope| where it would overflow.
class Residual {
 public:
  Residual(std::span<const Point> points, const Point& origin, double slope) noexcept
      : origin_(origin), slope_(slope) {
    const double reach = std::max(points.back().x - origin.x, origin.x - points.front().x);
    if (std::fabs(slope) > 1 && !(std::fabs(slope) * reach < 1e300)) {
      divisor_ = std::fabs(slope);
      slope_ = std::copysign(1.0, slope);
    }
  }
  double operator()(const Point& p) const noexcept {
    return std::fma(-slope_, p.x - origin_.x, (p.y - origin_.y) / divisor_);
  }

 private:
  Point origin_;
  double slope_, divisor_ = 1;
};

constexpr double kUnbounded =
    std::numeric_limits<double>::max();  // of a bracket without a bound yet

}  // namespace

Slopes::Slopes(std::span<const Point> points, std::uint64_t count)
    : points_(points), count_(count) {
  const auto [least, most] = std::minmax_element(
      points.begin(), points.end(), [](const Point& a, const Point& b) { return a.y < b.y; });
  origin_ = {origin_of(points.front().x, points.back().x), origin_of(least->y, most->y)};
}

std::vector<double> Slopes::at(std::span<const std::uint64_t> places) {
  std::vector<double> found;
  if (count_ > kListed) {
    draw_sample();
    for (const std::uint64_t place : places) found.push_back(select(place));
    return found;
  }
  std::vector<double> all = list_all();
  auto from = all.begin();
  for (const std::uint64_t place : places) {
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(place);
    if (at >= from) std::nth_element(from, at, all.end());
    found.push_back(*at);
    from = std::max(from, at);
  }
  return found;
}

std::vector<double> Slopes::list_all() const {
  std::vector<double> all;
  all.reserve(count_);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    for (std::size_t j = i + 1; j < points_.size(); ++j) {
      if (points_[i].x < points_[j].x) all.push_back(slope_of(points_[i], points_[j]));
    }
  }
  return all;
}

void Slopes::draw_sample() {
  const std::size_t n = points_.size();
  const std::size_t size = std::clamp<std::size_t>(8 * n, 1 << 14, 1 << 18);
  Draw draw;
  // Points may share x: then some draws give no slope, and a smaller sample a wider bracket.
  for (std::size_t i = 0; i < size; ++i) {
    const Point& a = points_[draw.below(n)];
    const Point& b = points_[draw.below(n)];
    if (a.x != b.x) sample_.push_back(slope_of(a, b));
  }
  std::sort(sample_.begin(), sample_.end());
}

Slopes::Counts Slopes::count(double slope) {
  const Residual residual(points_, origin_, slope);
  residuals_.resize(points_.size());
  std::uint64_t same_x = 0, run = 0;  // pairs of equal x and residual
  for (std::size_t i = 0; i < points_.size(); ++i) {
    residuals_[i] = residual(points_[i]);
    const bool again =
        i > 0 && points_[i].x == points_[i - 1].x && residuals_[i] == residuals_[i - 1];
    run = again ? run + 1 : 0;
    same_x += run;
  }
  // Points of equal x are sorted by y: never out of order.
  Counts counts;
  counts.value = slope;
  counts.below = sort_counting(std::span(residuals_), scratch_, std::less<double>());
  std::uint64_t equal = 0;
  run = 0;
  for (std::size_t i = 1; i < residuals_.size(); ++i) {
    run = residuals_[i] == residuals_[i - 1] ? run + 1 : 0;
    equal += run;
  }
  counts.at_most = counts.below + (equal - same_x);
  return counts;
}

// From what was counted for other places, and from the sample: four standard errors either side.
Slopes::Bracket Slopes::first_bracket(std::uint64_t place) {
  Bracket bracket{-kUnbounded, kUnbounded, 0, count_, std::nullopt};
  for (const Counts& counts : known_) keep_side(bracket, counts, place);
  if (sample_.empty()) return bracket;
  const auto size = static_cast<double>(sample_.size()), all = static_cast<double>(count_);
  const double share = static_cast<double>(place) / all;
  const double margin = 4 * std::sqrt(share * (1 - share) * size) + 1;
  if (static_cast<double>(bracket.inside()) / all < 4 * margin / size) return bracket;
  const auto value = [&](double at) {
    return sample_[static_cast<std::size_t>(std::clamp(at, 0.0, size - 1))];
  };
  cut(bracket, value(share * size - margin), place);
  cut(bracket, value(share * size + margin), place);
  bound(bracket, place);
  return bracket;
}

// Steps out from the one bound there is: the sample missed the place, or all slopes are one but for
// rounding and the counts cannot tell.
void Slopes::bound(Bracket& bracket, std::uint64_t place) {
  const double spread = sample_.back() - sample_.front();
  const double known = bracket.low == -kUnbounded ? bracket.high : bracket.low;
  double step = std::max(std::fabs(known), std::isfinite(spread) ? spread : 0) * 0x1p-48;
  if (step == 0) step = 0x1p-48;
  for (; std::isfinite(step) && !bracket.found; step *= 64) {
    if (bracket.low == -kUnbounded && bracket.high != kUnbounded) {
      cut(bracket, bracket.high - step, place);
    } else if (bracket.low != -kUnbounded && bracket.high == kUnbounded) {
      cut(bracket, bracket.low + step, place);
    } else {
      return;
    }
  }
}

void Slopes::cut(Bracket& bracket, double pivot, std::uint64_t place) {
  if (bracket.found || !(pivot > bracket.low && pivot < bracket.high)) return;
  known_.push_back(count(pivot));
  keep_side(bracket, known_.back(), place);
}

// Keeps the side of the value that the place is on. A value outside changes nothing.
void Slopes::keep_side(Bracket& bracket, const Counts& counts, std::uint64_t place) {
  if (bracket.found || !(counts.value > bracket.low && counts.value < bracket.high)) return;
  if (place < counts.below) {
    bracket.high = counts.value;
    bracket.below_high = counts.below;
  } else if (place >= counts.at_most) {
    bracket.low = counts.value;
    bracket.up_to_low = counts.at_most;
  } else {
    bracket.found = counts.value;
  }
}

// Cuts at `margin` of the bracket either side of where a straight line has the place.
void Slopes::narrow(Bracket& bracket, std::uint64_t place, double& margin) {
  const std::uint64_t before = bracket.inside();
  const double share =
      (static_cast<double>(place - bracket.up_to_low) + 0.5) / static_cast<double>(before);
  const double low = bracket.low, width = bracket.high - bracket.low;
  cut(bracket, low + (share - margin) * width, place);
  cut(bracket, low + (share + margin) * width, place);
  if (bracket.inside() <= before / 8) return;
  margin = std::min(0.25, margin * 4);  // not so straight
  if (bracket.inside() > before / 2) {  // halve the doubles
    cut(bracket, from_ordinal(middle_of(ordinal(bracket.low), ordinal(bracket.high))), place);
  }
}

double Slopes::select(std::uint64_t place) {
  if (place - listed_from_ < listed_.size()) return listed(place);  // wraps if it is before
  Bracket bracket = first_bracket(place);
  double margin = 1.0 / 256;
  const std::uint64_t few = std::max<std::uint64_t>(kListed, 2 * points_.size());
  while (!bracket.found && bracket.inside() > few && next_up(bracket.low) < bracket.high) {
    narrow(bracket, place, margin);
  }
  if (bracket.found) return *bracket.found;
  if (bracket.inside() > few) return bracket.low;  // no double between the ends
  list(bracket);
  return listed_.empty() ? bracket.low : listed(place);
}

double Slopes::listed(std::uint64_t place) {
  const std::uint64_t index = std::min<std::uint64_t>(place - listed_from_, listed_.size() - 1);
  const auto at = listed_.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(listed_.begin(), at, listed_.end());
  return *at;
}

// A pair's slope is inside if its residuals are in order at low and out of order at high, equal at
// neither. Without a bound the order is that of x, or its reverse.
void Slopes::list(const Bracket& bracket) {
  struct Ranked {
    double at_low, at_high;
    std::size_t point;
  };
  const Residual at_low(points_, origin_, bracket.low), at_high(points_, origin_, bracket.high);
  std::vector<Ranked> ranked(points_.size());
  double place = 0;  // equal for equal x
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (i > 0 && points_[i].x != points_[i - 1].x) ++place;
    ranked[i] = {bracket.low == -kUnbounded ? place : at_low(points_[i]),
                 bracket.high == kUnbounded ? -place : at_high(points_[i]), i};
  }
  // Equal at low: the later x first, so that falling apart until high leaves them in order.
  std::sort(ranked.begin(), ranked.end(), [this](const Ranked& a, const Ranked& b) {
    if (a.at_low != b.at_low) return a.at_low < b.at_low;
    const double x_a = points_[a.point].x, x_b = points_[b.point].x;
    return x_a != x_b ? x_a > x_b : a.point < b.point;
  });
  listed_from_ = bracket.up_to_low;
  listed_.clear();
  listed_.reserve(bracket.inside());
  sort_visiting(
      std::span(ranked), [](const Ranked& a, const Ranked& b) { return a.at_high < b.at_high; },
      [&](const Ranked& a, const Ranked& b) {
        if (points_[a.point].x < points_[b.point].x) {
          listed_.push_back(slope_of(points_[a.point], points_[b.point]));
        }
      });
}

}  // namespace genscope::stats

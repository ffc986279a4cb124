// A curve holds, at each reading, the joules and the seconds with readings so far; an interval is a
// difference of two interpolations, each by bisection. From a counter a step down counts nothing
// and covers nothing. From power it is the trapezoid of two neighbours, unless they are further
// apart than a gap, which covers nothing either: uncovered time is said, never filled.
//
// The counter is taken where it can be trusted: not where it stands still while power is drawn.
// Where both are there and disagree, that is noted.
#include "analyze/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace genscope {

std::string_view name(EnergyMethod method) noexcept {
  switch (method) {
    case EnergyMethod::counter:
      return "counter";
    case EnergyMethod::integrated:
      return "integrated";
    case EnergyMethod::none:
      break;
  }
  return "none";
}

namespace analysis {
namespace {

constexpr double kStandstillSeconds = 3;   // a counter that stands so long ...
constexpr double kStandstillWatts = 5;     // ... while this is drawn is stuck
constexpr double kDisagreement = 0.15;     // between counter and power, worth a word ...
constexpr double kComparableSeconds = 10;  // ... over at least this time

double mean_watts(const Energy& energy) {
  return energy.joules && energy.covered_seconds > 0 ? *energy.joules / energy.covered_seconds : 0;
}

}  // namespace

std::int64_t usual_distance(const std::vector<std::int64_t>& at_ns) {
  if (at_ns.size() < 2) return 0;
  std::vector<std::int64_t> gaps(at_ns.size() - 1);
  for (std::size_t i = 0; i < gaps.size(); ++i) gaps[i] = subtract(at_ns[i + 1], at_ns[i]);
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

void EnergyCurve::step(std::int64_t to_ns, double joules, bool covered) {
  const double dt = seconds(to_ns - at_ns_.back());
  joules_.push_back(joules_.back() + (covered ? joules : 0));
  covered_.push_back(covered_.back() + (covered ? dt : 0));
  at_ns_.push_back(to_ns);
}

EnergyCurve EnergyCurve::from_counter(const Points& joules) {
  EnergyCurve curve;
  curve.method_ = EnergyMethod::counter;
  curve.period_ns_ = usual_distance(joules.at_ns);
  for (std::size_t i = 0; i < joules.at_ns.size(); ++i) {
    if (i == 0) {
      curve.at_ns_.push_back(joules.at_ns[0]);
      curve.joules_.push_back(0);
      curve.covered_.push_back(0);
      continue;
    }
    const double used = joules.value[i] - joules.value[i - 1];
    if (used < 0) curve.resets_++;
    curve.step(joules.at_ns[i], used, used >= 0);
  }
  return curve;
}

EnergyCurve EnergyCurve::from_power(const Points& watts) {
  EnergyCurve curve;
  curve.method_ = EnergyMethod::integrated;
  curve.period_ns_ = usual_distance(watts.at_ns);
  const double gap = static_cast<double>(curve.period_ns_) * kGapFactor;
  for (std::size_t i = 0; i < watts.at_ns.size(); ++i) {
    if (i == 0) {
      curve.at_ns_.push_back(watts.at_ns[0]);
      curve.joules_.push_back(0);
      curve.covered_.push_back(0);
      continue;
    }
    const std::int64_t distance = watts.at_ns[i] - watts.at_ns[i - 1];
    const double used = (watts.value[i] + watts.value[i - 1]) / 2 * seconds(distance);
    curve.step(watts.at_ns[i], used, static_cast<double>(distance) <= gap);
  }
  return curve;
}

EnergyCurve::At EnergyCurve::at(std::int64_t ns) const noexcept {
  const auto after = std::upper_bound(at_ns_.begin(), at_ns_.end(), ns);
  return at_place(static_cast<std::size_t>(after - at_ns_.begin()), ns);
}

// `after`: the first point later than `ns`.
EnergyCurve::At EnergyCurve::at_place(std::size_t after, std::int64_t ns) const noexcept {
  if (after == 0) return {0, 0};
  const std::size_t i = after - 1;
  if (after == at_ns_.size()) return {joules_[i], covered_[i]};
  const double part = static_cast<double>(ns - at_ns_[i]) /
                      static_cast<double>(std::max<std::int64_t>(1, at_ns_[i + 1] - at_ns_[i]));
  return {joules_[i] + (joules_[i + 1] - joules_[i]) * part,
          covered_[i] + (covered_[i + 1] - covered_[i]) * part};
}

Energy EnergyCurve::between(std::int64_t begin_ns, std::int64_t end_ns) const {
  Energy energy;
  const double wanted = end_ns > begin_ns ? seconds(end_ns - begin_ns) : 0;
  energy.uncovered_seconds = wanted;
  if (empty() || wanted <= 0) return energy;
  const At from = at(begin_ns), to = at(end_ns);
  energy.covered_seconds = to.seconds - from.seconds;
  energy.uncovered_seconds = std::max(0.0, wanted - energy.covered_seconds);
  if (energy.covered_seconds <= 0) return energy;
  energy.joules = to.joules - from.joules;
  energy.method = method_;
  energy.resets = resets_;
  return energy;
}

Energy EnergyCurve::over(std::span<const Interval> stretches) const {
  Energy energy;
  double wanted = 0, joules = 0;
  std::size_t place = 0;
  const auto next = [&](std::int64_t ns) {
    place = gallop(at_ns_.size(), place, [&](std::size_t i) { return at_ns_[i] > ns; });
    return at_place(place, ns);
  };
  for (const Interval& stretch : stretches) {
    wanted += seconds(stretch.length());
    if (empty()) continue;
    const At from = next(stretch.begin), to = next(stretch.end);
    joules += to.joules - from.joules;
    energy.covered_seconds += to.seconds - from.seconds;
  }
  energy.uncovered_seconds = std::max(0.0, wanted - energy.covered_seconds);
  if (energy.covered_seconds <= 0) return energy;
  energy.joules = joules;
  energy.method = method_;
  energy.resets = resets_;
  return energy;
}

double EnergyCurve::longest_standstill() const noexcept {
  double longest = 0;
  std::size_t since = 0;
  for (std::size_t i = 1; i < at_ns_.size(); ++i) {
    if (joules_[i] != joules_[since]) since = i;
    longest = std::max(longest, seconds(at_ns_[i] - at_ns_[since]));
  }
  return longest;
}

DeviceEnergy choose_energy(const Points& joules, const Points& watts) {
  DeviceEnergy chosen{EnergyCurve::from_counter(joules), ""};
  const EnergyCurve integrated = EnergyCurve::from_power(watts);
  if (chosen.curve.empty()) return {integrated, ""};
  if (integrated.empty()) return chosen;
  const std::int64_t begin = std::max(joules.at_ns.front(), watts.at_ns.front());
  const std::int64_t end = std::min(joules.at_ns.back(), watts.at_ns.back());
  const Energy counted = chosen.curve.between(begin, end);
  const Energy summed = integrated.between(begin, end);
  const double by_counter = mean_watts(counted), by_power = mean_watts(summed);
  if (chosen.curve.longest_standstill() >= kStandstillSeconds && by_power > kStandstillWatts &&
      counted.joules.value_or(0) == 0) {
    return {integrated,
            "its energy counter stands still while power is drawn; power was "
            "integrated instead"};
  }
  if (counted.covered_seconds >= kComparableSeconds && by_power > 0 &&
      std::abs(by_counter - by_power) > kDisagreement * by_power) {
    chosen.note = fmt::format("its counter says {:.1f} W on average, its power readings {:.1f} W",
                              by_counter, by_power);
  }
  return chosen;
}

}  // namespace analysis
}  // namespace genscope

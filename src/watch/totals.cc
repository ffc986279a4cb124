#include "watch/totals.h"

#include <algorithm>
#include <cmath>

#include "watch/figures.h"

namespace genscope::watch {
namespace {

constexpr std::size_t kMost = 65536;  // numbers beyond it are not the sampler's
constexpr double kLongestGap = 12;    // seconds: two slow periods and some
constexpr double kNsPerSecond = 1e9;

void extend(SeriesTotal& total, const Reading& reading) {
  const double value = reading.value;
  const double seconds = static_cast<double>(reading.at_ns - total.value_at_ns) / kNsPerSecond;
  const bool connected = total.values > 0 && seconds > 0 && seconds <= kLongestGap;
  if (total.metric->kind == MetricKind::counter) {
    if (total.values > 0 && value > total.last) total.grown += value - total.last;
  } else if (total.metric->kind == MetricKind::bits) {
    total.seen_bits |= value >= 0 && value <= 0x1p53 ? static_cast<std::uint64_t>(value) : 0;
    if (connected) {
      total.covered_seconds += seconds;
      if (!throttle_words(total.last).empty()) total.fault_seconds += seconds;
    }
  } else if (connected) {
    total.integral += (total.last + value) / 2 * seconds;
    total.covered_seconds += seconds;
  }
  total.max = total.values == 0 ? value : std::max(total.max, value);
  total.last = value;
  total.value_at_ns = reading.at_ns;
  ++total.values;
}

}  // namespace

std::optional<double> SeriesTotal::mean() const {
  if (values == 0) return std::nullopt;
  return covered_seconds > 0 ? integral / covered_seconds : last;
}

void RunTotals::add_entity(std::uint32_t entity, const Entity& what) noexcept {
  try {
    if (entity < kMost) {
      if (entity >= entities_.size()) entities_.resize(entity + 1);
      entities_[entity] = what;
    }
  } catch (...) {
    // Without memory it is not in the summary.
  }
  if (next_ != nullptr) next_->add_entity(entity, what);
}

void RunTotals::add_series(std::uint32_t series, std::uint32_t entity, const Metric& metric,
                           std::string_view source) noexcept {
  try {
    if (series < kMost) {
      if (series >= series_.size()) series_.resize(series + 1);
      series_[series] = {};
      series_[series].entity = entity;
      series_[series].metric = &metric;
    }
  } catch (...) {
    // As above.
  }
  if (next_ != nullptr) next_->add_series(series, entity, metric, source);
}

void RunTotals::add_reading(std::uint32_t series, const Reading& reading) noexcept {
  if (series < series_.size() && series_[series].metric != nullptr) {
    SeriesTotal& total = series_[series];
    total.status = reading.status;
    total.reason = reading.reason;
    if (reading.status == SampleStatus::ok && std::isfinite(reading.value)) extend(total, reading);
  }
  if (next_ != nullptr) next_->add_reading(series, reading);
}

void RunTotals::add_event(std::uint32_t entity, std::string_view name,
                          std::string_view detail) noexcept {
  if (next_ != nullptr) next_->add_event(entity, name, detail);
}

void RunTotals::set_processes(std::uint32_t entity, std::span<const ProcessRow> rows) noexcept {
  if (next_ != nullptr) next_->set_processes(entity, rows);
}

const SeriesTotal* RunTotals::find(std::uint32_t entity, std::string_view metric) const {
  for (const SeriesTotal& total : series_) {
    if (total.metric != nullptr && total.entity == entity && total.metric->id == metric) {
      return total.values > 0 ? &total : nullptr;
    }
  }
  return nullptr;
}

}  // namespace genscope::watch

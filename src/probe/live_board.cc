// A reading is a handful of stores into its cell; the rate of a counter is made with it, against
// the last value that was good. After a status that may mean a restart there is no last value, so a
// rate never spans one. Two tiers that read one counter in one tick leave the rate as the first
// made it.
#include "probe/live_board.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace genscope::probe {
namespace {

std::int64_t period_of(const SamplerOptions& options, Tier tier) {
  switch (tier) {
    case Tier::fast:
      return options.fast_ns;
    case Tier::normal:
      return options.normal_ns;
    default:
      return options.slow_ns;
  }
}

}  // namespace

LiveBoard::LiveBoard(const SamplerOptions& options)
    : options_(options), cells_(std::make_unique<Cell[]>(options.max_series)) {}

std::uint32_t LiveBoard::add_entity(const Entity& entity) {
  std::uint32_t index = 0;
  {
    const std::lock_guard lock(definitions_mutex_);
    const auto known = std::find_if(entities_.begin(), entities_.end(),
                                    [&](const Entity& old) { return old.id == entity.id; });
    index = static_cast<std::uint32_t>(known - entities_.begin());
    if (known != entities_.end()) {
      *known = entity;
    } else if (entities_.size() >= options_.max_entities) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return kNoSeries;
    } else {
      entities_.push_back(entity);
      processes_.emplace_back();
      processes_.back().rows.reserve(kMaxProcessRows);
      entity_count_.store(entities_.size(), std::memory_order_release);
    }
  }
  if (options_.sink != nullptr) options_.sink->add_entity(index, entity);
  return index;
}

std::uint32_t LiveBoard::add_series(std::uint32_t entity, const Metric& metric, Tier tier,
                                    std::string_view source) {
  if (entity >= entities()) return kNoSeries;
  std::uint32_t index = 0;
  {
    const std::lock_guard lock(definitions_mutex_);
    for (; index < definitions_.size(); ++index) {
      if (definitions_[index].entity == entity && definitions_[index].metric->id == metric.id) {
        if (definitions_[index].source == source) return index;
        definitions_[index].source = source;
        break;
      }
    }
    if (index == definitions_.size()) {
      if (index >= options_.max_series) {
        refused_.fetch_add(1, std::memory_order_relaxed);
        return kNoSeries;
      }
      std::unique_ptr<History> history;
      if (options_.history) history = std::make_unique<History>(period_of(options_, tier) * 5 / 2);
      definitions_.push_back({entity, &metric, tier, std::string(source), std::move(history)});
      series_count_.store(definitions_.size(), std::memory_order_release);
    }
  }
  if (options_.sink != nullptr) options_.sink->add_series(index, entity, metric, source);
  return index;
}

void LiveBoard::begin_tick(std::int64_t now_ns) noexcept {
  now_ns_ = now_ns;
  sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  tick_ns_.store(now_ns, std::memory_order_release);
}

void LiveBoard::end_tick() noexcept {
  sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void LiveBoard::break_rates() noexcept {
  for (std::size_t i = 0; i < series(); ++i) cells_[i].has_last = false;
}

void LiveBoard::update_rate(Cell& cell, const Reading& reading) noexcept {
  SampleStatus status = reading.status;
  if (status == SampleStatus::ok) {
    // Two tiers may read one counter in one tick: the rate stays as it is.
    if (cell.has_last && reading.at_ns <= cell.last_ns) return;
    if (!cell.has_last || reading.value < cell.last) {
      status = SampleStatus::pending;  // the first, or the first after a reset
    } else {
      const double seconds = static_cast<double>(reading.at_ns - cell.last_ns) * 1e-9;
      cell.rate.store((reading.value - cell.last) / seconds, std::memory_order_release);
    }
    cell.last = reading.value;
    cell.last_ns = reading.at_ns;
    cell.has_last = true;
  } else if (status != SampleStatus::pending && status != SampleStatus::stale) {
    cell.has_last = false;  // what comes back may have started anew
  }
  cell.rate_status.store(status, std::memory_order_release);
}

void LiveBoard::publish(std::uint32_t series, const Reading& reading) noexcept {
  Cell& cell = cells_[series];
  const Definition& definition = definitions_[series];
  cell.value.store(reading.value, std::memory_order_release);
  cell.at_ns.store(reading.at_ns, std::memory_order_release);
  cell.reason.store(reading.reason, std::memory_order_release);
  cell.status.store(reading.status, std::memory_order_release);
  if (definition.metric->kind == MetricKind::counter) update_rate(cell, reading);
  if (definition.history != nullptr && reading.status == SampleStatus::ok) {
    const std::lock_guard lock(history_mutex_);
    definition.history->add(reading.at_ns, reading.value);
  }
  if (options_.sink != nullptr) options_.sink->add_reading(series, reading);
}

void LiveBoard::set(std::uint32_t index, double value) noexcept {
  if (index >= series()) return;
  const Metric& metric = *definitions_[index].metric;
  if (!std::isfinite(value)) {
    publish(index, {0, SampleStatus::implausible, "not a number", now_ns_});
  } else if (value < metric.low || value > metric.high) {
    publish(index, {value, SampleStatus::implausible, "out of the plausible range", now_ns_});
  } else {
    publish(index, {value, SampleStatus::ok, nullptr, now_ns_});
  }
}

void LiveBoard::set(std::uint32_t index, SampleStatus status, const char* reason) noexcept {
  if (index >= series() || status == SampleStatus::ok) return;
  publish(index, {0, status, reason, now_ns_});
}

void LiveBoard::set_all(std::uint32_t entity, SampleStatus status, const char* reason) noexcept {
  for (std::uint32_t i = 0; i < series(); ++i) {
    if (definitions_[i].entity == entity) set(i, status, reason);
  }
}

void LiveBoard::event(std::uint32_t entity, std::string_view name,
                      std::string_view detail) noexcept {
  if (options_.sink != nullptr && entity < entities()) {
    options_.sink->add_event(entity, name, detail);
  }
}

void LiveBoard::set_processes(std::uint32_t entity, std::span<const ProcessRow> rows) noexcept {
  if (entity >= entities()) return;
  const auto kept = rows.first(std::min(rows.size(), kMaxProcessRows));
  if (const std::unique_lock lock(definitions_mutex_, std::try_to_lock); lock.owns_lock()) {
    processes_[entity].rows.assign(kept.begin(), kept.end());
    processes_[entity].known = true;
  }
  if (options_.sink != nullptr) options_.sink->set_processes(entity, kept);
}

Reading LiveBoard::read_cell(std::size_t index, Reading& rate) const noexcept {
  const Cell& cell = cells_[index];
  Reading reading;
  reading.value = cell.value.load(std::memory_order_acquire);
  reading.at_ns = cell.at_ns.load(std::memory_order_acquire);
  reading.reason = cell.reason.load(std::memory_order_acquire);
  reading.status = cell.status.load(std::memory_order_acquire);
  rate = reading;
  rate.value = cell.rate.load(std::memory_order_acquire);
  rate.status = cell.rate_status.load(std::memory_order_acquire);
  return reading;
}

Snapshot LiveBoard::snapshot() const {
  Snapshot snapshot;
  {
    const std::lock_guard lock(definitions_mutex_);
    snapshot.entities.assign(entities_.begin(), entities_.end());
    for (const Definition& definition : definitions_) {
      snapshot.series.push_back(
          {definition.entity, definition.metric, definition.tier, definition.source, {}, {}});
    }
    for (std::uint32_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i].known) snapshot.processes.push_back({i, processes_[i].rows});
    }
  }
  // A tick takes some 100 us, and they are far apart. Whoever still meets one after 50 ms takes a
  // mixed row rather than wait longer: a driver hangs.
  for (int tries = 0; tries < 1000; ++tries) {
    if (tries >= 100) std::this_thread::sleep_for(std::chrono::microseconds(50));
    const std::uint32_t before = sequence_.load(std::memory_order_acquire);
    snapshot.at_ns = tick_ns_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < snapshot.series.size(); ++i) {
      snapshot.series[i].reading = read_cell(i, snapshot.series[i].rate);
    }
    if (before % 2 == 0 && sequence_.load(std::memory_order_relaxed) == before) break;
  }
  return snapshot;
}

std::vector<Sampler::Point> LiveBoard::history(std::uint32_t index, double seconds,
                                               std::size_t points) const {
  const History* history = nullptr;
  {
    const std::lock_guard lock(definitions_mutex_);
    if (index < definitions_.size()) history = definitions_[index].history.get();
  }
  if (history == nullptr) return {};
  const std::int64_t until = tick_ns_.load(std::memory_order_acquire);
  const double back = std::clamp(seconds * 1e9, 0.0, static_cast<double>(until));
  const std::lock_guard lock(history_mutex_);
  return history->read(until - static_cast<std::int64_t>(back), points);
}

}  // namespace genscope::probe

// RunTotals: peaks, sums and means of every series over a run, from every reading; a sink beside
// the recording one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <genscope/sample.h>

namespace genscope::watch {

struct SeriesTotal {
  std::uint32_t entity = 0;
  const Metric* metric = nullptr;
  std::uint64_t values = 0;  // readings with status ok; the rest means something only above 0
  double last = 0, max = 0;
  double grown = 0;  // of a counter: how much it grew, resets left out
  // Of a gauge: its integral over the time between readings that are not too far apart.
  double integral = 0;  // value times seconds
  double covered_seconds = 0;
  // Of bits: all that were seen, and for how long any of the throttle faults was set.
  std::uint64_t seen_bits = 0;
  double fault_seconds = 0;
  SampleStatus status = SampleStatus::pending;  // of the last reading
  const char* reason = nullptr;
  std::int64_t value_at_ns = 0;

  std::optional<double> mean() const;
};

class RunTotals final : public SampleSink {
 public:
  // What is taken is handed on to `next`; null: to nobody.
  explicit RunTotals(SampleSink* next = nullptr) : next_(next) {}

  void add_entity(std::uint32_t entity, const Entity& what) noexcept override;
  void add_series(std::uint32_t series, std::uint32_t entity, const Metric& metric,
                  std::string_view source) noexcept override;
  void add_reading(std::uint32_t series, const Reading& reading) noexcept override;
  void add_event(std::uint32_t entity, std::string_view name,
                 std::string_view detail) noexcept override;
  void set_processes(std::uint32_t entity, std::span<const ProcessRow> rows) noexcept override;

  // After the sampler has stopped.
  const std::vector<Entity>& entities() const { return entities_; }
  // The series of that entity and metric if it ever had a value, or null.
  const SeriesTotal* find(std::uint32_t entity, std::string_view metric) const;

 private:
  SampleSink* next_;
  std::vector<Entity> entities_;
  std::vector<SeriesTotal> series_;
};

}  // namespace genscope::watch

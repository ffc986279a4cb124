// Field values: the metrics that NVML gives by number, all of a tier in one call.
//
// Each field answers for itself: with its own return code, value type and time stamp. Where several
// fields can feed a metric, the first that the device has is chosen when it is opened.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "genscope/probe.h"
#include "probe/nvidia/call_state.h"
#include "probe/nvidia/library.h"

namespace genscope::probe::nvml {

// Which of the ProbeOptions' switches something belongs to.
enum class Subject : std::uint8_t { memory, utilization, temperature, power, processes, counters };
bool enabled(const ProbeOptions& options, Subject subject) noexcept;

// The number in a value of that type; none if we do not know the type.
std::optional<double> decode(std::uint32_t type, const Value& value) noexcept;

// One way to read a metric by field values: the sum of its fields.
struct FieldWay {
  const Metric* metric;
  Tier tier;
  Subject subject;
  std::uint32_t fields[2];  // the second may be 0: none
  std::uint32_t scope;
  double scale;  // to the metric's unit
  const char* source;
};
// Ways to the same metric stand in the order of preference.
std::span<const FieldWay> field_ways() noexcept;

// A driver's stamp that stands still while time passes means that the value is old.
class StampWatch {
 public:
  static constexpr std::int64_t kStaleNs = 2 * kSecond;
  // Whether `stamp_us` has stood still for kStaleNs. 0 is no stamp, and never stale.
  bool stale(std::int64_t stamp_us, std::int64_t now_ns) noexcept;

 private:
  std::int64_t stamp_us_ = 0;
  std::int64_t moved_ns_ = 0;
};

// The fields of one tier of one device. fetch() talks to the driver, the rest does not.
class FieldSet {
 public:
  static constexpr std::size_t kMaxWays = 8;

  struct Entry {
    const FieldWay* way = nullptr;
    std::uint32_t series = kNoSeries;
    CallState state;
    StampWatch stamps[2];
    std::size_t first = 0;  // its place in the request
    bool asked = false;     // is in the request
  };

  // Before the first fetch.
  void clear() noexcept { count_ = 0; }
  void add(const FieldWay& way, std::uint32_t series) noexcept;
  bool empty() const noexcept { return count_ == 0; }
  std::span<Entry> entries() noexcept { return {entries_.data(), count_}; }
  std::span<const Entry> entries() const noexcept { return {entries_.data(), count_}; }

  // Whether there is something to ask for now: builds the request.
  bool prepare(std::int64_t now_ns) noexcept;
  void fetch(const Api& api, DeviceHandle device) noexcept;
  // What came of an entry that was asked for; `value` is set if the verdict is value.
  Verdict result(Entry& entry, std::int64_t now_ns, double& value) noexcept;

 private:
  std::array<Entry, kMaxWays> entries_;
  std::size_t count_ = 0;
  std::array<FieldValue, 2 * kMaxWays> request_;
  std::size_t requested_ = 0;
  Return code_ = kSuccess;
};

// Whether the device has all fields of a way: asks once, by itself.
Return try_way(const Api& api, DeviceHandle device, const FieldWay& way) noexcept;

}  // namespace genscope::probe::nvml

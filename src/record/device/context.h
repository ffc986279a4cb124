// What a DeviceTimer keeps of one context: its events, the spans under way, how its clock runs.
#pragma once

#include <cstdint>
#include <vector>

#include "record/device/clock_map.h"
#include "record/device/driver.h"

namespace genscope::record::device {

// A span whose two events are in the stream.
struct Pair {
  std::uint64_t span = 0;
  std::uint64_t stream = 0;
  Event begin = nullptr, end = nullptr;
};

// Of events that callers use. Under the timer's lock.
struct Events {
  std::vector<Event> free;
  std::size_t made = 0;
};

// Compares the clocks of host and device: an event of its own on a stream of its own, between two
// looks at our clock. Nothing of the program's waits for it, nor it for anything of the program's.
// One thread, in the context.
class Anchors {
 public:
  Anchors(const Driver& driver, std::int64_t (*now_ns)()) : driver_(driver), now_ns_(now_ns) {}

  // Another anchor, if the device answers at once; kNotReady: it did not.
  Code add();
  void destroy() noexcept;
  // When `event` was, on the CLOCK_MONOTONIC scale; -1: unknown.
  std::int64_t host_ns(Event event) const;
  double rate() const noexcept { return map_.rate(); }
  std::int64_t taken_ns() const noexcept { return taken_ns_; }  // the last one; 0: none
  std::int64_t width_ns() const noexcept { return width_ns_; }  // and its bracket

 private:
  Code prepare();
  Code measure(Event event, std::int64_t& middle_ns, std::int64_t& width_ns) const;

  const Driver& driver_;
  std::int64_t (*now_ns_)();
  Stream stream_ = nullptr;
  Event last_ = nullptr, best_ = nullptr, trial_ = nullptr;
  ClockMap map_;
  std::int64_t taken_ns_ = 0, width_ns_ = 0;
};

struct Context {
  Context(Place where, const Driver& driver, std::int64_t (*now_ns)())
      : place(where), anchors(driver, now_ns) {}

  const Place place;
  // Under the lock.
  Events events;
  std::vector<Pair> arrived;
  // Of the timer's thread.
  std::vector<Pair> waiting;
  Anchors anchors;
};

// From `a` to `b`, in nanoseconds; either may be the earlier one.
Code elapsed_ns(const Driver& driver, Event a, Event b, double& ns);

}  // namespace genscope::record::device

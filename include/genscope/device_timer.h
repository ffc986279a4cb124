// DeviceTimer: the device's own time of spans, from events of the GPU's driver.
//
//   auto timer = genscope::DeviceTimer::start({.api = genscope::DeviceApi::cuda});
//   if (!timer) return say(timer.error().message);  // no driver: host time stands
//   genscope::Stage stage{"denoise"};
//   (*timer)->begin(stage.handle(), stream);        // the integer value of a CUstream; 0: default
//   launch(stream);
//   (*timer)->end(stage.handle(), stream);          // before the stage ends
//
// begin() and end() put an event into the stream and return; nothing waits for the device. A thread
// of the timer asks for the events now and then, and gives the spans their device time when it is
// known: the time between the two events by the device's clock, and when it began on the
// CLOCK_MONOTONIC scale. docs/device-time.md tells what that does and does not mean.
//
// The driver's library is loaded at run time, nothing of it is needed to build. No driver is ever
// initialised: a thread without a current context records nothing.
//
// Threads: begin() and end() may be called from any thread at any time. Failure: nothing here
// throws or waits; when the driver reports an error the timer turns itself off and says why.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <genscope/error.h>
#include <genscope/record.h>

namespace genscope {

enum class DeviceApi : std::uint8_t { cuda, hip };

struct DeviceTimerOptions {
  DeviceApi api = DeviceApi::cuda;
  // The driver's library. Empty: $GENSCOPE_CUDA_LIBRARY or $GENSCOPE_HIP_LIBRARY, else
  // libcuda.so.1 or libamdhip64.so.
  std::string library = {};
  // Events of one context that may be in use. A span needs two; without one it is dropped and
  // counted.
  std::size_t max_events = 4096;
  std::int64_t poll_ns = 5'000'000;        // between two looks at what is under way
  std::int64_t anchor_ns = 1'000'000'000;  // between two comparisons of the clocks
  // CLOCK_MONOTONIC in nanoseconds; null: the system's. For tests.
  std::int64_t (*now_ns)() = nullptr;
};

// Spans, counted once each. What has no device time is in one of the lower lines.
struct DeviceTimerStats {
  std::uint64_t resolved = 0;    // have device time
  std::uint64_t pending = 0;     // begun, or waiting for the device
  std::uint64_t no_event = 0;    // all events were in use
  std::uint64_t no_context = 0;  // begun or ended where no context was current
  std::uint64_t capturing = 0;   // the stream was being captured into a graph
  std::uint64_t moved = 0;       // begun and ended on different streams or devices
  std::uint64_t refused = 0;     // the driver did not take the stream
  std::uint64_t left = 0;        // the device had not finished them when the timer stopped
  std::string off;               // why it turned itself off; empty: it did not
};

class DeviceTimer {
 public:
  // unsupported if there is no such library, or it lacks what is needed.
  static Result<std::unique_ptr<DeviceTimer>> start(const DeviceTimerOptions& options);
  ~DeviceTimer();  // stops
  DeviceTimer(const DeviceTimer&) = delete;
  DeviceTimer& operator=(const DeviceTimer&) = delete;

  void begin(Handle span, std::uint64_t stream) noexcept;
  void end(Handle span, std::uint64_t stream) noexcept;
  // Takes what the device has finished by now, without waiting for the device; for at most
  // `patience_ns` while the driver is busy. Before a session is closed.
  void settle(std::int64_t patience_ns = 200'000'000) noexcept;
  // settle(), drops the rest, ends the thread. begin() and end() do nothing from then on.
  void stop() noexcept;

  bool active() const noexcept;
  DeviceTimerStats stats() const;

 private:
  class Impl;
  explicit DeviceTimer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace genscope

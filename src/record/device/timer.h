// The inside of a DeviceTimer.
//
// A caller takes an event from the pool, records it and leaves; the lock is held for a look-up,
// never across a call of the driver, so that a busy driver holds up nobody who was not in it
// already. The thread takes the pairs that arrived, and asks for the oldest of each stream: the
// rest of a stream cannot be ready before it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include <genscope/record.h>

#include "record/device/context.h"

namespace genscope {

class DeviceTimer::Impl {
 public:
  explicit Impl(const DeviceTimerOptions& options);
  std::string load() { return driver_.load(options_.api, options_.library); }
  std::string run();  // starts the thread; empty, or why there is none

  void begin(std::uint64_t span, std::uint64_t stream);
  void end(std::uint64_t span, std::uint64_t stream);
  void settle(std::int64_t patience_ns);
  void stop();

  bool forked() const noexcept;
  bool active() const noexcept { return !off_.load(std::memory_order_acquire) && !forked(); }
  DeviceTimerStats stats() const;

 private:
  using Context = record::device::Context;
  using Event = record::device::Event;
  using Code = record::device::Code;
  using Count = std::uint64_t DeviceTimerStats::*;

  struct Open {
    Context* context = nullptr;
    std::uint64_t stream = 0;
    Event event = nullptr;
  };

  Context& context_of(record::device::Place place);
  Event take(Context& context);
  void give_back(Context& context, Event event, Count count);
  bool record(Context& context, Event event, std::uint64_t stream);
  void turn_off(const char* what, Code code);

  void loop();
  void pass(bool last);
  bool resolve(Context& context);
  bool publish(Context& context, const record::device::Pair& pair);
  bool anchor(Context& context, bool last);
  void tell_anchor(const Context& context) const;
  void finish();

  const DeviceTimerOptions options_;
  record::device::Driver driver_;
  std::uint32_t forks_;
  std::atomic<bool> off_{true};
  mutable std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::map<record::device::Place, std::unique_ptr<Context>> contexts_;
  std::unordered_map<std::uint64_t, Open> open_;
  DeviceTimerStats stats_;
  std::uint64_t asked_ = 0, passes_ = 0;
  bool arrived_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace genscope

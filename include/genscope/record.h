// Recording: mark sessions, stages, steps, blocks, requests, events and counters.
//
//   genscope::Session session{"qwen-image"};            // opens a run, or joins `genscope run`
//   { genscope::Stage stage{"text_encoding"}; encode(); }
//   for (int i = 0; i < steps; ++i) { genscope::Step step{i}; denoise(i); }
//   { GENSCOPE_STAGE("vae_decode"); decode(); }         // static name: the cheapest form
//   genscope::event("milestone", {{"progress", 0.5}});
//   genscope::counter("loss", loss);
//
// Place in the flow: first. What is recorded here lands in a trace file that store.h reads.
//
// Threads: everything here may be called from any thread at any time, before a session, after it
// and during static destruction; without a session it does nothing. A span costs about a pair of
// time-stamp reads; docs/overhead.md has the figures.
//
// Parents: a scoped span is the child of the innermost scoped span of its thread. A span opened
// with an explicit parent, and every span opened with begin(), is detached: its parent is the
// handle it was given, it may end on any thread, and no scoped span becomes its child by accident.
// Use those in coroutines, callbacks and overlapping requests.
//
// Failure: nothing here fails or throws. When recording is impossible (unwritable folder, full
// disk) it turns itself off with one line on stderr; when buffers are full it drops and counts.
//
// Define GENSCOPE_OFF to compile all of it out; the same code then produces no instructions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <genscope/config.h>
#include <genscope/error.h>
#include <genscope/internal/hot.h>
#include <genscope/internal/no_memory.h>
#include <genscope/trace.h>

namespace genscope {

// Longer names and texts are cut at a character boundary.
inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::size_t kMaxTextBytes = 512;

// A named value on a span or an event: {"steps", 20}, {"sigma", 0.5}, {"dtype", "bf16"}.
// Holds views: valid for the call that it is passed to.
class Arg {
 public:
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  constexpr Arg(std::string_view key, T value) noexcept : key_(key) {
    if constexpr (std::is_same_v<T, bool>) {
      type_ = internal::ArgType::boolean;
      bits_ = value ? 1 : 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      type_ = internal::ArgType::float64;
      bits_ = __builtin_bit_cast(std::uint64_t, static_cast<double>(value));
    } else {
      type_ = std::is_unsigned_v<T> ? internal::ArgType::uint64 : internal::ArgType::int64;
      bits_ = static_cast<std::uint64_t>(value);
    }
  }
  constexpr Arg(std::string_view key, std::string_view text) noexcept
      : key_(key), text_(text), type_(internal::ArgType::text) {}
  constexpr Arg(std::string_view key, const char* text) noexcept
      : Arg(key, std::string_view(text != nullptr ? text : "")) {}
  // With a static key, which needs no look-up.
  template <class T>
  constexpr explicit Arg(const internal::StaticArg<T>& arg) noexcept
      : Arg(std::string_view(), arg.value) {
    key_site_ = &arg.key;
  }

  std::string_view key() const noexcept { return key_; }
  Site* key_site() const noexcept { return key_site_; }  // null: look up key()
  internal::ArgType type() const noexcept { return type_; }
  std::uint64_t bits() const noexcept { return bits_; }
  std::string_view text() const noexcept { return text_; }

 private:
  std::string_view key_;
  std::string_view text_;
  std::uint64_t bits_ = 0;
  Site* key_site_ = nullptr;
  internal::ArgType type_ = internal::ArgType::int64;
};
using Args = std::initializer_list<Arg>;

// Which clock stamps the spans. Durations never see the wall clock being set.
enum class ClockChoice : std::uint8_t {
  automatic,  // the time-stamp counter where the CPU and the kernel both trust it, else the OS
  os,         // CLOCK_MONOTONIC: twice the cost, works everywhere
};

// What happens when the trace reaches max_trace_bytes.
enum class WhenFull : std::uint8_t {
  stop,         // recording stops; the start of the run is kept
  keep_newest,  // the oldest segment is deleted; the end of the run is kept (flight recorder)
};

struct SessionOptions {
  // Folder in which a new run directory is made. Empty: $GENSCOPE_OUT, else ./genscope-runs.
  std::string out;
  // The run directory itself, made if missing. Empty: $GENSCOPE_RUN_DIR, else a new one in `out`.
  std::string run_dir;
  // Memory for spans on their way to the file, rounded to 64 KiB: the most that it grows to. It
  // starts at 4 MiB and never takes more than an eighth of the free space.
  std::size_t buffer_bytes = 64u << 20;
  // Where that memory's file lives. Empty: beside the trace, or in local memory (/dev/shm, /tmp)
  // when the run directory is on a network file system, where a shared mapping would be slow.
  std::string buffer_dir;
  // Bound on the bytes of this process's trace. 0: none.
  std::uint64_t max_trace_bytes = std::uint64_t{4} << 30;
  WhenFull when_full = WhenFull::stop;
  // Pack the trace (about 5 bytes a span) or write the words as they are (16 bytes a span, less
  // CPU in the drain thread).
  bool pack = true;
  ClockChoice clock = ClockChoice::automatic;
  // Do not print the line that says why recording is off; error() still has it.
  bool quiet = false;
  // Record the session itself as a span.
  bool span = true;
  // Spans to leave out, by kind or by kind and name: "step", "stage/vae_decode"; what is inside of
  // them then belongs to what is around them. $GENSCOPE_SKIP, separated by commas, adds to it. A
  // name that an earlier session of this process recorded goes on being recorded.
  std::vector<std::string> skip;
  // Keep the command line as it is. Else what looks like a secret in it is `***`
  // (docs/security.md); $GENSCOPE_KEEP_ARGS=1 keeps it, too.
  bool keep_args = false;

  // Probes to start with the session, by name (probe.h): "process", "system", "nvml", ... They
  // sample on a thread of their own, in this process: a fault in a vendor's library would be a
  // fault here, so give GPUs to `genscope run` where you can, which samples them from another
  // process. Under `genscope run` none are started: it watches this process already.
  std::vector<std::string> probes;
  double probe_interval_seconds = 0.1;  // of what is cheap to read; the rest 1 s and 5 s
  double probe_budget = 0.001;          // share of one core for all probes together
  bool gpu_memory = true, gpu_utilization = true, gpu_temperature = true, gpu_power = true;
};

// What a settings file asks of a session. `enabled: false` is up to the caller.
SessionOptions session_options(const Config& config);

// What the recorder has done so far in this process.
struct RecorderStats {
  bool active = false;                // a trace is open
  std::uint64_t dropped_spans = 0;    // spans dropped because the buffers were full
  std::uint64_t dropped_records = 0;  // events, counters, arguments and detached ends, likewise
  std::uint64_t bytes_written = 0;    // in this process's trace so far
  std::uint64_t threads = 0;          // that have recorded
};

// What a framework's caching allocator says of one device, in bytes; leave out what it does not
// tell. requested <= allocated <= active <= reserved.
struct AllocatorStats {
  std::string_view device = "gpu";               // "cuda:0", or the id of a GPU as probes give it
  std::optional<std::uint64_t> requested_bytes;  // asked for by the program
  std::optional<std::uint64_t> allocated_bytes;  // the same, rounded up to blocks
  std::optional<std::uint64_t> active_bytes;     // and what is freed but awaits a stream
  std::optional<std::uint64_t> reserved_bytes;   // held from the driver, cache included
  std::optional<std::uint64_t> inactive_split_bytes;  // free, but in segments that are in use
  std::optional<std::uint64_t> retries;               // allocations that first emptied the cache
  std::optional<std::uint64_t> ooms;                  // allocations that failed
};

}  // namespace genscope

#if defined(GENSCOPE_OFF)
#include <genscope/internal/record_off.h>
#else
#include <genscope/internal/record_on.h>
#endif

namespace genscope {

// ---- DeviceTimer: the device's own time of spans, from events of the GPU's driver
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

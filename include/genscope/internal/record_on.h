// The recording API proper; included by record.h, never directly. record_off.h is its twin with
// empty bodies: a change here needs one there.
#pragma once

#include <genscope/record.h>

namespace genscope {
inline namespace on {

// Names a span after it was opened, wherever it lives. Copyable, comparable, 8 bytes; may travel
// between threads. A default one means "no span"; using it is harmless.
class Handle {
 public:
  constexpr Handle() = default;
  constexpr explicit Handle(std::uint64_t id) noexcept : id_(id) {}
  constexpr std::uint64_t id() const noexcept { return id_; }
  constexpr explicit operator bool() const noexcept { return id_ != 0; }
  friend constexpr bool operator==(Handle, Handle) = default;

  // Adds an argument, also from another thread and after the span's end.
  void arg(const Arg& arg) const noexcept;
  template <class T>
  void arg(std::string_view key, T&& value) const noexcept {
    arg(Arg(key, value));
  }
  // The device's own time for this span, kept apart from host time. `begin_ns` is when the device
  // started, on the CLOCK_MONOTONIC scale, if known. May be called once the driver knows.
  void device_time(std::int64_t duration_ns, std::int64_t begin_ns = -1) const noexcept;

 private:
  std::uint64_t id_ = 0;
};

// A named row of the timeline that is not a thread, for example a GPU stream.
class Track {
 public:
  constexpr Track() = default;
  explicit Track(std::string_view name) noexcept;
  static constexpr Track from_id(std::uint32_t id) noexcept {
    Track track;
    track.id_ = id;
    return track;
  }
  std::uint32_t id() const noexcept { return id_; }

 private:
  std::uint32_t id_ = 0;
};

// Where a detached span belongs.
struct Under {
  Handle parent = {};
  Track track = {};  // none: the thread that begins it
};

// Opens a detached span. End it with end(), once, on any thread.
Handle begin(SpanKind kind, std::string_view name, Under under = {}, Args args = {}) noexcept;
Handle begin(Site& site, Under under, Args args) noexcept;
// Without arguments and track it costs about what a scoped span does.
inline Handle begin(Site& site, Under under = {}) noexcept {
  if (under.track.id() != 0) return begin(site, under, {});
  return Handle(internal::begin_detached(site, under.parent.id()));
}
// Opens a scoped span without an object: for bindings of other languages, which must end it on
// this thread in the order that scopes would give.
Handle begin_scoped(SpanKind kind, std::string_view name, Args args = {}) noexcept;
inline void end(Handle span) noexcept {
  if ((span.id() & internal::kIdAsync) != 0) {
    internal::end_detached(span.id());
  } else {
    internal::end(span.id());
  }
}
// Ends it as failed: the report counts it so.
void end_failed(Handle span) noexcept;

// An instant on this thread, or on a span.
void event(std::string_view name, Args args = {}) noexcept;
inline void event(Site& site) noexcept { internal::event(site); }
void event(Site& site, Args args) noexcept;
void event(Handle span, std::string_view name, Args args = {}) noexcept;

// A value over time. The unit belongs into the name: "vram_bytes", "loss".
void counter(std::string_view name, double value) noexcept;
inline void counter(Site& site, double value) noexcept { internal::counter(site, value); }

// The allocator's figures now: at the end of a stage, or as often as you like.
void allocator_stats(const AllocatorStats& stats) noexcept;

// Writes what a Sampler reads into the open trace, on the thread that samples. One per Sampler.
std::unique_ptr<SampleSink> make_recording_sink();

// Names the calling thread in reports. Without it the OS name is used.
void name_thread(std::string_view name) noexcept;

// The process-wide switch. Off, a span costs a load and a branch. Starts on.
void set_enabled(bool enabled) noexcept;
bool enabled() noexcept;

// Returns when every chunk that was full at the call is in the trace file. For benchmarks and
// tests: nothing needs it for safety, since what is not yet in the file survives a crash as well.
void flush() noexcept;

RecorderStats recorder_stats() noexcept;

// A scoped span of the calling thread. Destroy it on the thread and in the order that scopes
// give; out of order (a coroutine) is recorded correctly too, at a higher cost.
class Span {
 public:
  explicit Span(Site& site) noexcept : id_(internal::begin(site)) {}

  // With arguments under static keys: GENSCOPE_ARG.
  template <class... T>
  requires(sizeof...(T) > 0) Span(Site& site, const internal::StaticArg<T>&... args)
  noexcept {
    if (internal::g_mode.load(std::memory_order_relaxed) == 0) return;
    internal::Lane& lane = internal::t_lane;
    const std::uint32_t id = site.id.load(std::memory_order_relaxed);
    const bool unnamed =
        ((args.key.id.load(std::memory_order_relaxed) == 0 ? 1u : 0u) | ...) != 0 || id == 0;
    const std::uint64_t first = internal::take(lane);
    const std::uint64_t tick = internal::fast_ticks() - lane.base;
    if (unnamed || internal::no_room(lane, first, 2 + 2 * sizeof...(args)) ||
        (tick >> internal::kFieldShift) != 0) [[unlikely]] {
      internal::give_back(lane, first);
      begin_slow(site, args...);
      return;
    }
    lane.depth++;
    std::uint64_t* w = internal::words_at(first);
    *w++ = internal::make_word(internal::Op::begin, id, tick);
    ((w = internal::put_arg(w, args)), ...);
    internal::publish(lane.chunk, internal::address(w));
    id_ = lane.id_base + first / 8;
    internal::give_back(lane, internal::address(w));
  }

  Span(SpanKind kind, std::string_view name, Args args = {}) noexcept
      : id_(begin_scoped(kind, name, args).id()) {}
  explicit Span(std::string_view name, Args args = {}) noexcept
      : Span(SpanKind::function, name, args) {}
  // Detached, see above.
  Span(SpanKind kind, std::string_view name, Under under, Args args = {}) noexcept
      : id_(begin(kind, name, under, args).id()) {}

  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span() { internal::end(id_); }

  // Ends it before its scope does. Later calls do nothing.
  void end() noexcept {
    internal::end(id_);
    id_ = 0;
  }
  // Marks it as failed; it still ends with its scope.
  void fail() noexcept {
    if (id_ != 0) id_ |= internal::kIdFailed;
  }
  Handle handle() const noexcept { return Handle(id_ & ~internal::kIdFailed); }
  bool recorded() const noexcept { return id_ != 0; }

  template <class T>
  void arg(std::string_view key, T&& value) const noexcept {
    if (id_ != 0) handle().arg(Arg(key, value));
  }
  void device_time(std::int64_t duration_ns, std::int64_t begin_ns = -1) const noexcept {
    if (id_ != 0) handle().device_time(duration_ns, begin_ns);
  }

 private:
  template <class... T>
  [[gnu::cold, gnu::noinline]] void begin_slow(Site& site,
                                               const internal::StaticArg<T>&... args) noexcept {
    const Arg list[] = {Arg(args)...};
    id_ = internal::begin_slow(site, list, sizeof...(args));
  }
  std::uint64_t id_ = 0;
};

// Scoped spans by kind. Each takes a name, arguments, and optionally `Under` to be detached.
template <SpanKind kKind>
class KindSpan : public Span {
 public:
  explicit KindSpan(std::string_view name, Args args = {}) noexcept : Span(kKind, name, args) {}
  KindSpan(std::string_view name, Under under, Args args = {}) noexcept
      : Span(kKind, name, under, args) {}
};
using Stage = KindSpan<SpanKind::stage>;
using Load = KindSpan<SpanKind::load>;
using Forward = KindSpan<SpanKind::forward>;
using Epoch = KindSpan<SpanKind::epoch>;
using Batch = KindSpan<SpanKind::batch>;
using Task = KindSpan<SpanKind::task>;

inline constinit Site step_site{"step", SpanKind::step, {internal::kSiteStep}};
inline constinit Site block_site{"block", SpanKind::block, {internal::kSiteBlock}};
inline constinit Site index_key{"index", SpanKind::none, {internal::kKeyIndex}};

// One denoising or decoding step, numbered from 0.
class Step : public Span {
 public:
  explicit Step(std::int64_t index) noexcept
      : Span(step_site, internal::StaticArg<std::int64_t>{index_key, index}) {}
  Step(std::int64_t index, Args args) noexcept : Step(index) {
    for (const Arg& a : args) handle().arg(a);
  }
};

// One block of a block-wise (causal, streaming) generation; give {"frames", n} for frame rates.
class Block : public Span {
 public:
  explicit Block(std::int64_t index) noexcept
      : Span(block_site, internal::StaticArg<std::int64_t>{index_key, index}) {}
  Block(std::int64_t index, Args args) noexcept : Block(index) {
    for (const Arg& a : args) handle().arg(a);
  }
};

// A request being served: detached, movable, may overlap with others and end on any thread.
class Request {
 public:
  explicit Request(std::string_view name, Under under = {}, Args args = {}) noexcept
      : handle_(begin(SpanKind::request, name, under, args)) {}
  Request(Request&& other) noexcept : handle_(other.handle_) { other.handle_ = Handle(); }
  Request& operator=(Request&& other) noexcept {
    if (this != &other) {
      genscope::end(handle_);
      handle_ = other.handle_;
      other.handle_ = Handle();
    }
    return *this;
  }
  ~Request() { genscope::end(handle_); }

  Handle handle() const noexcept { return handle_; }
  void end() noexcept {
    genscope::end(handle_);
    handle_ = Handle();
  }
  void fail() noexcept {
    end_failed(handle_);
    handle_ = Handle();
  }
  template <class T>
  void arg(std::string_view key, T&& value) const noexcept {
    handle_.arg(Arg(key, value));
  }

 private:
  Handle handle_;
};

// Opens the trace of this process, and closes it when the last Session object goes. Sessions may
// nest and overlap: each becomes a span of kind session in the same trace. With GENSCOPE_RUN_DIR
// set (by `genscope run`), the trace opens with the first span even without a Session and stays
// open until the process ends. With GENSCOPE_DISABLE=1 nothing is recorded.
class Session {
 public:
  explicit Session(std::string_view name, const SessionOptions& options = {}) noexcept;
  // As a settings file says: with its probes, folder and tags, or not at all if it is not enabled.
  Session(std::string_view name, const Config& config) noexcept;
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Ends the session now; the destructor then does nothing.
  void close() noexcept;
  // Whether spans are being recorded.
  bool active() const noexcept;
  // Why not, in one sentence; empty while active or when disabled on purpose.
  std::string error() const;
  // The run directory; empty if there is none.
  std::string run_dir() const;
  Handle handle() const noexcept { return handle_; }
  template <class T>
  void arg(std::string_view key, T&& value) const noexcept {
    handle_.arg(Arg(key, value));
  }

 private:
  void open(std::string_view name, const SessionOptions& options) noexcept;

  Handle handle_;
  std::string run_dir_;
  std::shared_ptr<void> sampling_;
  bool open_ = false;
};

}  // namespace on
}  // namespace genscope

#define GENSCOPE_CAT2_(a, b) a##b
#define GENSCOPE_CAT_(a, b) GENSCOPE_CAT2_(a, b)

// An argument with a static key, for the macros below: GENSCOPE_ARG("tokens", n).
#define GENSCOPE_ARG(key, value)                                                    \
  ::genscope::internal::StaticArg<std::decay_t<decltype(value)>> {                  \
    []() -> ::genscope::Site& {                                                     \
      static constinit ::genscope::Site site{key, ::genscope::SpanKind::none, {0}}; \
      return site;                                                                  \
    }(),                                                                            \
        value                                                                       \
  }

// Not const: g++ 12 would keep a const object in memory, a store and a load for nothing.
#define GENSCOPE_SCOPE_(kind, name, ...)                                                      \
  static constinit ::genscope::Site GENSCOPE_CAT_(genscope_site_, __LINE__){name, kind, {0}}; \
  ::genscope::Span GENSCOPE_CAT_(genscope_span_, __LINE__) {                                  \
    GENSCOPE_CAT_(genscope_site_, __LINE__) __VA_OPT__(, ) __VA_ARGS__                        \
  }

// Scoped spans with static names: GENSCOPE_STAGE("vae_decode", GENSCOPE_ARG("tiles", 4));
#define GENSCOPE_SPAN(...) GENSCOPE_SCOPE_(::genscope::SpanKind::function, __VA_ARGS__)
#define GENSCOPE_STAGE(...) GENSCOPE_SCOPE_(::genscope::SpanKind::stage, __VA_ARGS__)
#define GENSCOPE_LOAD(...) GENSCOPE_SCOPE_(::genscope::SpanKind::load, __VA_ARGS__)
#define GENSCOPE_FORWARD(...) GENSCOPE_SCOPE_(::genscope::SpanKind::forward, __VA_ARGS__)
#define GENSCOPE_EPOCH(...) GENSCOPE_SCOPE_(::genscope::SpanKind::epoch, __VA_ARGS__)
#define GENSCOPE_BATCH(...) GENSCOPE_SCOPE_(::genscope::SpanKind::batch, __VA_ARGS__)
#define GENSCOPE_TASK(...) GENSCOPE_SCOPE_(::genscope::SpanKind::task, __VA_ARGS__)
#define GENSCOPE_STEP(index) \
  ::genscope::Step GENSCOPE_CAT_(genscope_span_, __LINE__) { index }
#define GENSCOPE_BLOCK(index) \
  ::genscope::Block GENSCOPE_CAT_(genscope_span_, __LINE__) { index }
#define GENSCOPE_EVENT(name)                                                                 \
  do {                                                                                       \
    static constinit ::genscope::Site genscope_site_{name, ::genscope::SpanKind::none, {0}}; \
    ::genscope::event(genscope_site_);                                                       \
  } while (false)
#define GENSCOPE_COUNTER(name, value)                                                        \
  do {                                                                                       \
    static constinit ::genscope::Site genscope_site_{name, ::genscope::SpanKind::none, {0}}; \
    ::genscope::counter(genscope_site_, value);                                              \
  } while (false)

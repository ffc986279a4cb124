// The recording API compiled out (GENSCOPE_OFF): the same names as record_on.h, empty bodies.
// Included by record.h, never directly. Its own inline namespace lets objects compiled with and
// without GENSCOPE_OFF be linked together.
#pragma once

#include <genscope/record.h>

namespace genscope {
inline namespace off {

class Handle {
 public:
  constexpr Handle() = default;
  constexpr explicit Handle(std::uint64_t) noexcept {}
  constexpr std::uint64_t id() const noexcept { return 0; }
  constexpr explicit operator bool() const noexcept { return false; }
  friend constexpr bool operator==(Handle, Handle) = default;
  constexpr void arg(const Arg&) const noexcept {}
  template <class T>
  constexpr void arg(std::string_view, T&&) const noexcept {}
  constexpr void device_time(std::int64_t, std::int64_t = -1) const noexcept {}
};

class Track {
 public:
  constexpr Track() = default;
  constexpr explicit Track(std::string_view) noexcept {}
  static constexpr Track from_id(std::uint32_t) noexcept { return {}; }
  constexpr std::uint32_t id() const noexcept { return 0; }
};

struct Under {
  Handle parent = {};
  Track track = {};
};

constexpr Handle begin(SpanKind, std::string_view, Under = {}, Args = {}) noexcept { return {}; }
inline Handle begin(Site&, Under = {}, Args = {}) noexcept { return {}; }
constexpr Handle begin_scoped(SpanKind, std::string_view, Args = {}) noexcept { return {}; }
constexpr void end(Handle) noexcept {}
constexpr void end_failed(Handle) noexcept {}
constexpr void event(std::string_view, Args = {}) noexcept {}
inline void event(Site&, Args = {}) noexcept {}
constexpr void event(Handle, std::string_view, Args = {}) noexcept {}
constexpr void counter(std::string_view, double) noexcept {}
inline void counter(Site&, double) noexcept {}
inline void allocator_stats(const AllocatorStats&) noexcept {}
inline std::unique_ptr<SampleSink> make_recording_sink() { return nullptr; }
constexpr void name_thread(std::string_view) noexcept {}
constexpr void set_enabled(bool) noexcept {}
constexpr bool enabled() noexcept { return false; }
constexpr void flush() noexcept {}
constexpr RecorderStats recorder_stats() noexcept { return {}; }

class Span {
 public:
  constexpr Span() noexcept = default;
  constexpr explicit Span(Site&) noexcept {}
  constexpr Span(SpanKind, std::string_view, Args = {}) noexcept {}
  constexpr explicit Span(std::string_view, Args = {}) noexcept {}
  constexpr Span(SpanKind, std::string_view, Under, Args = {}) noexcept {}
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  constexpr void end() noexcept {}
  constexpr void fail() noexcept {}
  constexpr Handle handle() const noexcept { return {}; }
  constexpr bool recorded() const noexcept { return false; }
  template <class T>
  constexpr void arg(std::string_view, T&&) const noexcept {}
  constexpr void device_time(std::int64_t, std::int64_t = -1) const noexcept {}
};

template <SpanKind kKind>
class KindSpan : public Span {
 public:
  constexpr explicit KindSpan(std::string_view, Args = {}) noexcept {}
  constexpr KindSpan(std::string_view, Under, Args = {}) noexcept {}
};
using Stage = KindSpan<SpanKind::stage>;
using Load = KindSpan<SpanKind::load>;
using Forward = KindSpan<SpanKind::forward>;
using Epoch = KindSpan<SpanKind::epoch>;
using Batch = KindSpan<SpanKind::batch>;
using Task = KindSpan<SpanKind::task>;

class Step : public Span {
 public:
  constexpr explicit Step(std::int64_t, Args = {}) noexcept {}
};
class Block : public Span {
 public:
  constexpr explicit Block(std::int64_t, Args = {}) noexcept {}
};

class Request {
 public:
  constexpr explicit Request(std::string_view, Under = {}, Args = {}) noexcept {}
  constexpr Request(Request&&) noexcept = default;
  constexpr Request& operator=(Request&&) noexcept = default;
  constexpr Handle handle() const noexcept { return {}; }
  constexpr void end() noexcept {}
  constexpr void fail() noexcept {}
  template <class T>
  constexpr void arg(std::string_view, T&&) const noexcept {}
};

class Session {
 public:
  explicit Session(std::string_view, const SessionOptions& = {}) noexcept {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  constexpr void close() noexcept {}
  constexpr bool active() const noexcept { return false; }
  std::string error() const { return {}; }
  std::string run_dir() const { return {}; }
  constexpr Handle handle() const noexcept { return {}; }
  template <class T>
  constexpr void arg(std::string_view, T&&) const noexcept {}
};

}  // namespace off
}  // namespace genscope

// The arguments are not evaluated.
#define GENSCOPE_ARG(key, value) 0
#define GENSCOPE_SPAN(...) static_cast<void>(0)
#define GENSCOPE_STAGE(...) static_cast<void>(0)
#define GENSCOPE_LOAD(...) static_cast<void>(0)
#define GENSCOPE_FORWARD(...) static_cast<void>(0)
#define GENSCOPE_EPOCH(...) static_cast<void>(0)
#define GENSCOPE_BATCH(...) static_cast<void>(0)
#define GENSCOPE_TASK(...) static_cast<void>(0)
#define GENSCOPE_STEP(index) static_cast<void>(0)
#define GENSCOPE_BLOCK(index) static_cast<void>(0)
#define GENSCOPE_EVENT(name) static_cast<void>(0)
#define GENSCOPE_COUNTER(name, value) static_cast<void>(0)

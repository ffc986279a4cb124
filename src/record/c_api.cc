#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "genscope/c.h"
#include "genscope/record.h"
#include "genscope/version.h"

// A gs_site is a Site that C can declare.
static_assert(sizeof(gs_site) == sizeof(genscope::Site));
static_assert(offsetof(gs_site, kind) == offsetof(genscope::Site, kind));
static_assert(offsetof(gs_site, id) == offsetof(genscope::Site, id));
static_assert(GS_FUNCTION == static_cast<int>(genscope::SpanKind::function));

struct gs_session {
  genscope::Session session;
  std::string run_dir;
  std::string error;
};

namespace {

using genscope::Arg;
using genscope::Handle;
using genscope::SpanKind;
using genscope::internal::StaticArg;

const char* text(const char* s) noexcept { return s != nullptr ? s : ""; }

genscope::SessionOptions to_cpp(const gs_session_options* given) {
  gs_session_options o{};
  if (given != nullptr) std::memcpy(&o, given, std::min(given->struct_size, sizeof o));
  genscope::SessionOptions options;
  options.out = text(o.out);
  options.run_dir = text(o.run_dir);
  options.buffer_dir = text(o.buffer_dir);
  if (o.buffer_bytes != 0) options.buffer_bytes = o.buffer_bytes;
  if (o.max_trace_bytes != 0) options.max_trace_bytes = o.max_trace_bytes;
  if (o.max_trace_bytes == UINT64_MAX) options.max_trace_bytes = 0;
  if (o.keep_newest != 0) options.when_full = genscope::WhenFull::keep_newest;
  options.pack = o.raw == 0;
  if (o.os_clock != 0) options.clock = genscope::ClockChoice::os;
  options.quiet = o.quiet != 0;
  return options;
}

bool off() noexcept { return genscope::internal::g_mode.load(std::memory_order_relaxed) == 0; }

gs_span begin_indexed(genscope::Site& site, std::int64_t index) noexcept {
  if (off()) return 0;
  const Arg arg(StaticArg<std::int64_t>{genscope::index_key, index});
  return genscope::internal::begin_slow(site, &arg, 1);
}

}  // namespace

extern "C" {

gs_session* gs_session_open(const char* name, const gs_session_options* options) {
  try {
    auto* const s = new gs_session{genscope::Session(text(name), to_cpp(options)), {}, {}};
    s->run_dir = s->session.run_dir();
    s->error = s->session.error();
    return s;
  } catch (...) {
    return nullptr;  // without memory; every function takes a null session
  }
}

void gs_session_close(gs_session* session) { delete session; }

int gs_session_active(const gs_session* session) {
  return session != nullptr && session->session.active() ? 1 : 0;
}

const char* gs_session_run_dir(const gs_session* session) {
  return session != nullptr ? session->run_dir.c_str() : "";
}

const char* gs_session_error(const gs_session* session) {
  return session != nullptr ? session->error.c_str() : "";
}

gs_span gs_begin(gs_kind kind, const char* name) {
  return genscope::begin_scoped(static_cast<SpanKind>(kind), text(name)).id();
}

gs_span gs_begin_site(gs_site* site) {
  return genscope::internal::begin(*reinterpret_cast<genscope::Site*>(site));
}

gs_span gs_begin_step(int64_t index) { return begin_indexed(genscope::step_site, index); }
gs_span gs_begin_block(int64_t index) { return begin_indexed(genscope::block_site, index); }

gs_span gs_begin_detached(gs_kind kind, const char* name, gs_span parent, uint32_t track) {
  return genscope::begin(static_cast<SpanKind>(kind), text(name),
                         {Handle(parent), genscope::Track::from_id(track)})
      .id();
}

uint32_t gs_track(const char* name) { return genscope::Track(text(name)).id(); }

void gs_end(gs_span span) { genscope::internal::end(span); }
void gs_end_failed(gs_span span) { genscope::end_failed(Handle(span)); }

void gs_arg_int(gs_span span, const char* key, int64_t value) {
  Handle(span).arg(Arg(text(key), value));
}
void gs_arg_double(gs_span span, const char* key, double value) {
  Handle(span).arg(Arg(text(key), value));
}
void gs_arg_bool(gs_span span, const char* key, int value) {
  Handle(span).arg(Arg(text(key), value != 0));
}
void gs_arg_text(gs_span span, const char* key, const char* value) {
  Handle(span).arg(Arg(text(key), text(value)));
}
void gs_device_time(gs_span span, int64_t duration_ns, int64_t begin_ns) {
  Handle(span).device_time(duration_ns, begin_ns);
}

void gs_event(gs_span span, const char* name) { genscope::event(Handle(span), text(name)); }
void gs_counter(const char* name, double value) { genscope::counter(text(name), value); }
void gs_name_thread(const char* name) { genscope::name_thread(text(name)); }

void gs_set_enabled(int enabled) { genscope::set_enabled(enabled != 0); }
int gs_enabled(void) { return genscope::enabled() ? 1 : 0; }

gs_stats gs_recorder_stats(void) {
  const genscope::RecorderStats s = genscope::recorder_stats();
  return {s.active ? 1 : 0, s.dropped_spans, s.dropped_records, s.bytes_written, s.threads};
}

const char* gs_version(void) { return GENSCOPE_VERSION_STRING; }

}  // extern "C"

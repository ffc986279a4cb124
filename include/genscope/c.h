/* The C face of record.h: the same powers for C programs and for other languages.
 *
 * Everything may be called from any thread at any time; without a session it does nothing. Nothing
 * fails: what cannot be recorded is dropped and counted. Strings are UTF-8, zero-terminated, and
 * copied during the call. docs/c-api.md has a complete program.
 *
 *   gs_session* s = gs_session_open("qwen-image", NULL);
 *   gs_span stage = gs_begin(GS_STAGE, "text_encoding");  ... gs_end(stage);
 *   gs_session_close(s);
 */
#ifndef GENSCOPE_C_H
#define GENSCOPE_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gs_kind {
  GS_NONE = 0,
  GS_SESSION,
  GS_LOAD,
  GS_STAGE,
  GS_STEP,
  GS_BLOCK,
  GS_FORWARD,
  GS_REQUEST,
  GS_BATCH,
  GS_EPOCH,
  GS_TASK,
  GS_FUNCTION
} gs_kind;

/* A span. 0 is none, and harmless wherever a span is expected. */
typedef uint64_t gs_span;

typedef struct gs_session gs_session;

/* Zero-initialise, then set what you need; zero means the default of record.h. */
typedef struct gs_session_options {
  size_t struct_size; /* sizeof(gs_session_options): lets the struct grow */
  const char* out;
  const char* run_dir;
  size_t buffer_bytes;
  const char* buffer_dir;
  uint64_t max_trace_bytes; /* UINT64_MAX: no limit */
  int keep_newest;          /* else recording stops at the limit */
  int raw;                  /* write words as they are, do not pack */
  int os_clock;
  int quiet;
} gs_session_options;

/* Never null. Close it exactly once. */
gs_session* gs_session_open(const char* name, const gs_session_options* options);
void gs_session_close(gs_session* session);
int gs_session_active(const gs_session* session);
/* Valid until the session is closed. Empty strings if there is nothing to say. */
const char* gs_session_run_dir(const gs_session* session);
const char* gs_session_error(const gs_session* session);

/* A static name: `static gs_site site = GS_SITE(GS_STAGE, "vae_decode");` The cheapest form. */
typedef struct gs_site {
  const char* name;
  uint8_t kind;
  uint32_t id; /* filled in on first use */
} gs_site;
#define GS_SITE(kind, name) \
  { (name), (uint8_t)(kind), 0 }

/* Scoped spans of the calling thread: children of the innermost open one. */
gs_span gs_begin(gs_kind kind, const char* name);
gs_span gs_begin_site(gs_site* site);
gs_span gs_begin_step(int64_t index);
gs_span gs_begin_block(int64_t index);

/* Detached spans: the parent is given (or 0), they may end on any thread. `track` is from
 * gs_track(), or 0 for the calling thread. */
gs_span gs_begin_detached(gs_kind kind, const char* name, gs_span parent, uint32_t track);
uint32_t gs_track(const char* name);

/* Ends either sort, once. */
void gs_end(gs_span span);
void gs_end_failed(gs_span span);

/* Arguments, also from another thread and after the end. */
void gs_arg_int(gs_span span, const char* key, int64_t value);
void gs_arg_double(gs_span span, const char* key, double value);
void gs_arg_bool(gs_span span, const char* key, int value);
void gs_arg_text(gs_span span, const char* key, const char* value);
/* begin_ns: CLOCK_MONOTONIC scale, or -1. */
void gs_device_time(gs_span span, int64_t duration_ns, int64_t begin_ns);

/* `span` 0: an event of the calling thread. */
void gs_event(gs_span span, const char* name);
void gs_counter(const char* name, double value);
void gs_name_thread(const char* name);

void gs_set_enabled(int enabled);
int gs_enabled(void);

typedef struct gs_stats {
  int active;
  uint64_t dropped_spans;
  uint64_t dropped_records;
  uint64_t bytes_written;
  uint64_t threads;
} gs_stats;
gs_stats gs_recorder_stats(void);

const char* gs_version(void);

#ifdef __cplusplus
}
#endif

#endif /* GENSCOPE_C_H */

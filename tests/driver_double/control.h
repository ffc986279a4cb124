// How a test scripts the double of the GPU drivers: functions of the same library, found by dlsym
// (or ctypes). All state is the process's; double_reset() starts over.
#pragma once

#include <cstdint>

extern "C" {

// Forgets everything; contexts 1 and 2 (devices 0 and 1) exist, none is current anywhere.
void double_reset();
// The calling thread's current context: 1, 2; 0: none. For HIP: device + 1.
void double_set_context(std::uint64_t context);
// From now on every call that names this context gives CUDA_ERROR_CONTEXT_IS_DESTROYED.
void double_destroy_context(std::uint64_t context);

// Work of that length goes into the stream of the current context.
void double_launch(std::uint64_t stream, std::int64_t ns);
// How many times an event of a program's stream is asked for before it is ready; -1: never.
void double_set_late(int queries);
// The same for events of streams that the caller made (the anchors).
void double_set_anchor_late(int queries);
// The device's clock: host clock * (1 + parts_per_million / 1e6) + offset.
void double_set_clock(double parts_per_million, std::int64_t offset_ns);
// The host's clock; null: CLOCK_MONOTONIC.
void double_set_host_clock(std::int64_t (*now_ns)());
// The stream is being captured: recording into it is an error, and counted as a mistake.
void double_set_capturing(std::uint64_t stream, int on);
// The n-th call from now of that name ("event_record", "event_query", "event_elapsed",
// "event_create", "enter") and all after it give `code`; code 0: no more.
void double_fail(const char* call, int code, int nth);

// What was done wrong: use without a context, of a foreign or destroyed event, recording while
// capturing, querying with a mode that disturbs captures. 0 in a correct program.
std::int64_t double_mistakes();
const char* double_last_mistake();
std::int64_t double_live_events();
std::int64_t double_live_streams();
std::int64_t double_calls(const char* call);
// Synchronising calls: none may be made.
std::int64_t double_synchronizes();
}

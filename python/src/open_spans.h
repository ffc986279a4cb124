// The spans that are open in the calling thread or asyncio task: who is the parent of the next one.
//
// Outside of an event loop spans are scoped: the recorder knows their order by itself, and the
// stack here only answers current() and end() without a handle. Inside a running event loop tasks
// take turns on one thread, so spans are detached, and the parent is kept in a context variable.
#pragma once

#include <cstdint>

#include <genscope/record.h>

#include "python.h"

namespace genscope::python {

// What was open before a span of an event loop; null outside of one.
struct Opened {
  std::uint64_t id = 0;        // 0: not recorded
  PyObject* before = nullptr;  // owned: value of the context variable
};

// Set while the calling thread runs an event loop, by asyncio's own announcements, which pass
// through follow_loops(). Its address is the thread's.
extern thread_local char t_loop;
// Where announcements are not enough, and each span must ask: loops that may have begun earlier,
// and, once follow_context() was called, threads that run for a task (a server's pool of threads
// copies the task's context).
extern bool g_must_ask;
// False means no, at the cost of two loads.
inline bool loop_may_run() noexcept { return t_loop != 0 || g_must_ask; }
bool loop_is_running() noexcept;

namespace internal_stack {
// Of a thread, made on its first span.
struct Stack {
  static constexpr std::uint32_t kSize = 512;  // deeper spans are recorded, but are no one's parent
  std::uint32_t depth = 0;
  std::uint64_t ids[kSize];
};
extern thread_local Stack* t_stack;
Stack* make_stack() noexcept;
}  // namespace internal_stack

// For scoped spans.
inline void push(std::uint64_t id) noexcept {
  internal_stack::Stack* stack = internal_stack::t_stack;
  if (stack == nullptr) [[unlikely]] {
    if ((stack = internal_stack::make_stack()) == nullptr) return;
  }
  if (stack->depth < internal_stack::Stack::kSize) [[likely]] {
    stack->ids[stack->depth] = id;
  }
  stack->depth++;
}
void forget(std::uint64_t id) noexcept;  // wherever it is
inline void pop(std::uint64_t id) noexcept {
  internal_stack::Stack* const stack = internal_stack::t_stack;
  if (stack == nullptr || stack->depth == 0) [[unlikely]]
    return;
  const std::uint32_t top = stack->depth - 1;
  if (top < internal_stack::Stack::kSize && stack->ids[top] != id) [[unlikely]]
    return forget(id);
  stack->depth = top;
}

// The innermost open span of this task, else of this thread; 0: none.
std::uint64_t current() noexcept;

// A span of a task: detached, below current(), and itself current until closed.
Opened open_in_task(SpanKind kind, std::string_view name) noexcept;
void close_in_task(Opened& opened, bool failed) noexcept;
// For spans that no object holds: keeps what was open before until take_kept(), which gives an
// Opened without an id for a span that was not kept.
void keep(const Opened& opened) noexcept;
Opened take_kept(std::uint64_t id) noexcept;
// The same for a span that another one begins and ends.
Opened enter_in_task(std::uint64_t id) noexcept;
void leave_in_task(Opened& opened) noexcept;
// Of the calling task, 0 if none.
std::uint64_t current_in_task() noexcept;

bool add_open_spans(PyObject* module);

}  // namespace genscope::python

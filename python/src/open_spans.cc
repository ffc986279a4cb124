#include "open_spans.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>
#include <unordered_map>

#include "entry.h"

namespace genscope::python {

thread_local char t_loop = 0;
bool g_must_ask = false;

namespace {

// ContextVar whose value is the id of the innermost open span of the task, or absent.
PyObject* g_context = nullptr;
PyObject* g_ask_loop = nullptr;  // asyncio.events._get_running_loop
PyObject* g_get = nullptr;       // bound methods of it
PyObject* g_set = nullptr;
bool g_follow = false;  // threads without a loop look at the context too

}  // namespace

namespace internal_stack {

thread_local Stack* t_stack = nullptr;

// Freed by a key: a thread_local with a destructor would end the process where there is no memory
// to register it.
Stack* make_stack() noexcept {
  struct Key {
    pthread_key_t key{};
    bool made = pthread_key_create(&key, [](void* stack) {
                  t_stack = nullptr;
                  delete static_cast<Stack*>(stack);
                }) == 0;
  };
  static const Key key;
  Stack* const stack = key.made ? new (std::nothrow) Stack : nullptr;
  if (stack == nullptr) return nullptr;
  if (pthread_setspecific(key.key, stack) != 0) {
    delete stack;
    return nullptr;
  }
  return t_stack = stack;
}

}  // namespace internal_stack

using internal_stack::Stack;
using internal_stack::t_stack;

void forget(std::uint64_t id) noexcept {
  Stack* const stack = t_stack;
  if (stack == nullptr || stack->depth == 0) return;
  std::uint32_t at = stack->depth < Stack::kSize ? stack->depth : Stack::kSize;
  while (at > 0 && stack->ids[at - 1] != id) --at;
  if (at == 0) return;  // of another thread, or too deep to be listed
  const std::uint32_t last = stack->depth < Stack::kSize ? stack->depth : Stack::kSize;
  for (std::uint32_t i = at; i < last; ++i) stack->ids[i - 1] = stack->ids[i];
  stack->depth--;
}

bool loop_is_running() noexcept {
  if (t_loop != 0) return true;
  if (!g_must_ask) [[likely]]
    return false;
  if (g_ask_loop != nullptr) {
    const Ref loop(PyObject_CallNoArgs(g_ask_loop));
    if (!loop) PyErr_Clear();
    if (loop && loop.get() != Py_None) return true;
  }
  return g_follow && current_in_task() != 0;
}

std::uint64_t current_in_task() noexcept {
  if (g_get == nullptr) return 0;
  const Ref value(PyObject_CallNoArgs(g_get));
  if (!value) PyErr_Clear();
  if (!value || value.get() == Py_None) return 0;
  const std::uint64_t id = PyLong_AsUnsignedLongLong(value.get());
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return id;
}

std::uint64_t current() noexcept {
  if (loop_is_running()) {
    if (const std::uint64_t id = current_in_task(); id != 0) return id;
  }
  const Stack* const stack = t_stack;
  if (stack == nullptr || stack->depth == 0) return 0;
  const std::uint32_t top = stack->depth < Stack::kSize ? stack->depth : Stack::kSize;
  return stack->ids[top - 1];
}

Opened open_in_task(SpanKind kind, std::string_view name) noexcept {
  const std::uint64_t parent = current();
  return enter_in_task(begin(kind, name, {.parent = Handle(parent)}).id());
}

Opened enter_in_task(std::uint64_t span) noexcept {
  Opened opened;
  opened.id = span;
  if (span == 0) return opened;
  opened.before = PyObject_CallNoArgs(g_get);
  const Ref id(opened.before != nullptr ? PyLong_FromUnsignedLongLong(opened.id) : nullptr);
  const Ref token(id ? PyObject_CallFunctionObjArgs(g_set, id.get(), nullptr) : nullptr);
  PyErr_Clear();
  return opened;
}

void close_in_task(Opened& opened, bool failed) noexcept {
  failed ? end_failed(Handle(opened.id)) : end(Handle(opened.id));
  leave_in_task(opened);
}

void leave_in_task(Opened& opened) noexcept {
  // Another context than that of open_in_task (an async generator that is closed by the loop) has
  // another innermost span: it stays.
  const Aside aside;
  if (opened.before != nullptr && current_in_task() == opened.id) {
    const Ref token(PyObject_CallFunctionObjArgs(g_set, opened.before, nullptr));
    if (!token) PyErr_Clear();
  }
  Py_CLEAR(opened.before);
  opened.id = 0;
}

namespace {

// Spans of tasks begun by hand. Those that are never ended stay, up to a bound: beyond it a span
// that ends leaves the task below it.
constexpr std::size_t kMaxKept = 4096;
std::atomic<std::size_t> g_kept{0};  // their number: without any, end() pays a load
struct Kept {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, PyObject*> before;
};
Kept& kept() {
  static auto* const kept = new Kept;
  return *kept;
}

}  // namespace

void keep(const Opened& opened) noexcept {
  if (opened.id == 0 || opened.before == nullptr) return;
  Ref before(opened.before);
  try {
    if (!internal::may_throw()) return;
    Kept& all = kept();
    const std::lock_guard lock(all.mutex);
    if (all.before.size() < kMaxKept && all.before.emplace(opened.id, before.get()).second) {
      static_cast<void>(before.release());
    }
    g_kept.store(all.before.size(), std::memory_order_relaxed);
  } catch (...) {  // as beyond the bound
  }
}

Opened take_kept(std::uint64_t id) noexcept {
  Opened opened;
  if (g_kept.load(std::memory_order_relaxed) == 0) [[likely]]
    return opened;
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  const auto found = all.before.find(id);
  if (found == all.before.end()) return opened;
  opened.id = id;
  opened.before = found->second;
  all.before.erase(found);
  g_kept.store(all.before.size(), std::memory_order_relaxed);
  return opened;
}

namespace {

PyObject* keep_context(PyObject*, PyObject* variable) {
  Ref get(PyObject_GetAttrString(variable, "get"));
  Ref set(PyObject_GetAttrString(variable, "set"));
  if (!get || !set) return nullptr;
  Py_INCREF(variable);
  g_context = variable;
  g_get = get.release();
  g_set = set.release();
  return none();
}

PyObject* ask_for_loops(PyObject*, PyObject* running_loop) {
  Py_INCREF(running_loop);
  g_ask_loop = running_loop;
  g_must_ask = true;
  return none();
}

PyObject* set_running_loop(PyObject* original, PyObject* loop) {
  PyObject* const result = PyObject_CallFunctionObjArgs(original, loop, nullptr);
  if (result != nullptr) t_loop = loop != Py_None ? 1 : 0;
  return result;
}
Method announced = passing<set_running_loop>("_set_running_loop", METH_O,
                                             "asyncio's own, which genscope listens to.");

PyObject* follow_loops(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!arity(count, 2, 2, "follow_loops(set_running_loop, running, /)")) return nullptr;
  const int running = PyObject_IsTrue(args[1]);
  if (running < 0) return nullptr;
  t_loop = running != 0 ? 1 : 0;
  return PyCFunction_NewEx(&announced, args[0], nullptr);
}

PyObject* follow_context(PyObject*, PyObject*) {
  g_follow = g_must_ask = true;
  return none();
}

Method functions[] = {
    reading<keep_context>("keep_context", METH_O,
                          "keep_context(variable): holds a task's open span."),
    reading<ask_for_loops>("ask_for_loops", METH_O,
                           "ask_for_loops(running_loop): from now on, at each span."),
    reading<follow_loops>(
        "follow_loops", METH_FASTCALL,
        "follow_loops(set_running_loop, running, /): in place of the first; the second is whether "
        "the calling thread runs a loop already."),
    reading<follow_context>(
        "follow_context", METH_NOARGS,
        "From now on, spans of threads that run for a task are below the task's."),
    {},
};

}  // namespace

bool add_open_spans(PyObject* module) { return add_functions(module, functions); }

}  // namespace genscope::python

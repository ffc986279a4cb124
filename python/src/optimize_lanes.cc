// genscope._core.DeviceLane and FairLimiter: lanes and limiters for genscope.optimize.
//
// A ticket is one call that waits or runs. Who waits for it does so without the GIL; what it calls
// in Python takes the GIL on the lane's thread, while no lock of ours is held. Every call into the
// core lets the GIL go first, because the core may call back on this very thread.
#include <genscope/optimize/async.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "calls.h"
#include "entry.h"
#include "monitors.h"

namespace genscope::python {
namespace {

namespace go = optimize;

struct Ticket {
  Ticket(const go::Context& under, PyObject* runs, PyObject* tells) noexcept
      : context(under),
        function(another(runs).release()),
        on_done(another(tells == Py_None ? nullptr : tells).release()) {}
  ~Ticket() {
    if (Py_IsInitialized() == 0) return;  // the interpreter has gone, and its objects with it
    const WithGil held;
    for (PyObject* const object : {function, on_done, value, raised}) Py_XDECREF(object);
  }

  // On the lane's thread.
  void run() noexcept {
    const WithGil held;
    value = PyObject_CallObject(function, nullptr);
    if (value == nullptr) {
      PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
      PyErr_Fetch(&type, &error, &trace);
      PyErr_NormalizeException(&type, &error, &trace);
      if (trace != nullptr) PyException_SetTraceback(error, trace);
      Py_XDECREF(type);
      Py_XDECREF(trace);
      raised = error;
    }
    Py_CLEAR(function);
  }
  void end(go::WaitResult how) noexcept {
    {
      const std::lock_guard lock(mutex);
      result = how;
      came.notify_all();
    }
    if (on_done == nullptr) return;
    const WithGil held;
    const Ref told(PyObject_CallObject(on_done, nullptr));
    if (!told) PyErr_WriteUnraisable(on_done);
    Py_CLEAR(on_done);
  }
  std::optional<go::WaitResult> ended() {
    const std::lock_guard lock(mutex);
    return result;
  }

  std::mutex mutex;
  std::condition_variable came;
  std::optional<go::WaitResult> result;
  go::Context context;
  go::Permit permit;
  PyObject *function, *on_done;
  PyObject *value = nullptr, *raised = nullptr;
};
using TicketObject = Holder<std::shared_ptr<Ticket>>;

// Freed aside: the last reference may go on a thread of the lane itself, which it would wait for.
struct LaneHold {
  ~LaneHold() {
    all.request_stop();
    if (lane) std::thread([gone = std::move(lane)]() mutable { gone.reset(); }).detach();
  }
  std::shared_ptr<go::Lane> lane;
  go::Context all;  // every call's is a child
};
using LaneObject = Holder<LaneHold>;
using LimiterObject = Holder<std::shared_ptr<go::Limiter>>;

PyTypeObject *g_ticket = nullptr, *g_lane = nullptr, *g_limiter = nullptr;

std::chrono::nanoseconds seconds_ns(double seconds) noexcept {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

// `deadline`: of time.monotonic(), None: none. False with an exception.
bool context_from(const go::Context& under, PyObject* deadline, int priority, const char* tenant,
                  unsigned long long trace, std::optional<go::Context>& context) {
  go::ContextOptions options;
  if (deadline != Py_None) {
    const double at = PyFloat_AsDouble(deadline);
    if (at == -1 && PyErr_Occurred() != nullptr) return false;
    options.deadline_ns = static_cast<std::int64_t>(at * 1e9);
  }
  options.priority = priority;
  options.tenant = tenant;
  options.trace = trace;
  context.emplace(under.child(options));
  return true;
}

// device_lane(name, width, aging, max_waiting, /)
PyObject* device_lane(PyObject*, PyObject* args) {
  const char* called = nullptr;
  Py_ssize_t width = 1, waiting = 0;
  double aging = 0;
  if (PyArg_ParseTuple(args, "sndn", &called, &width, &aging, &waiting) == 0) return nullptr;
  if (width < 1 || waiting < 0 || !(aging >= 0)) {
    PyErr_SetString(PyExc_ValueError, "width is at least 1, aging and max_waiting at least 0");
    return nullptr;
  }
  go::LaneOptions options;
  options.width = static_cast<std::size_t>(width);
  options.aging = seconds_ns(aging);
  options.max_waiting = static_cast<std::size_t>(waiting);
  PyObject* const made = LaneObject::make(g_lane);
  if (made != nullptr) LaneObject::of(made).lane = std::make_shared<go::Lane>(called, options);
  return made;
}

// post(function, on_done or None, deadline or None, priority, tenant, trace, cost, /) -> Ticket
PyObject* lane_post(PyObject* self, PyObject* args) {
  PyObject *function = nullptr, *on_done = nullptr, *deadline = nullptr;
  int priority = 0;
  const char* tenant = nullptr;
  unsigned long long trace = 0;
  double cost = 1;
  if (PyArg_ParseTuple(args, "OOOisKd", &function, &on_done, &deadline, &priority, &tenant, &trace,
                       &cost) == 0) {
    return nullptr;
  }
  LaneHold& hold = LaneObject::of(self);
  const std::shared_ptr<go::Lane> lane = hold.lane;
  if (!lane) {
    PyErr_SetString(PyExc_RuntimeError, "the lane is closed");
    return nullptr;
  }
  std::optional<go::Context> context;
  if (!context_from(hold.all, deadline, priority, tenant, trace, context)) return nullptr;
  const auto ticket = std::make_shared<Ticket>(*context, function, on_done);
  Ref made(TicketObject::make(g_ticket, ticket));
  if (!made) return nullptr;
  const WithoutGil released;
  lane->post(
      *context, [ticket] { ticket->run(); }, [ticket](go::WaitResult how) { ticket->end(how); },
      cost);
  return made.release();
}

// Drops what waits, waits for what runs. Not from a body of the lane: it would wait for itself.
PyObject* lane_close(PyObject* self, PyObject*) {
  LaneHold& hold = LaneObject::of(self);
  std::shared_ptr<go::Lane> lane = std::move(hold.lane);
  hold.lane.reset();
  if (!lane) return none();
  const WithoutGil released;
  hold.all.request_stop();
  std::thread([gone = std::move(lane)]() mutable { gone.reset(); }).join();
  return none();
}

PyObject* stats_dict(const go::LimiterStats& stats, std::optional<go::LaneStats> lane) {
  Ref dict(PyDict_New());
  if (!dict) return nullptr;
  const auto put = [&dict](const char* key, PyObject* value) {
    const Ref held(value);
    return held && PyDict_SetItemString(dict.get(), key, held.get()) == 0;
  };
  const auto seconds = [](auto ns) { return PyFloat_FromDouble(static_cast<double>(ns) * 1e-9); };
  if (!put("capacity", PyLong_FromLongLong(stats.capacity)) ||
      !put("in_use", PyLong_FromLongLong(stats.in_use)) ||
      !put("waiting", PyLong_FromSize_t(stats.waiting)) ||
      !put("granted", PyLong_FromUnsignedLongLong(stats.granted)) ||
      !put("cancelled", PyLong_FromUnsignedLongLong(stats.cancelled)) ||
      !put("timed_out", PyLong_FromUnsignedLongLong(stats.timed_out)) ||
      !put("rejected", PyLong_FromUnsignedLongLong(stats.rejected)) ||
      !put("waited_seconds", seconds(stats.waited_ns)) ||
      !put("oldest_seconds", seconds(stats.oldest_ns))) {
    return nullptr;
  }
  if (lane && (!put("running", PyLong_FromSize_t(lane->running)) ||
               !put("finished", PyLong_FromUnsignedLongLong(lane->finished)) ||
               !put("run_seconds", seconds(lane->run_ns)))) {
    return nullptr;
  }
  return dict.release();
}

PyObject* lane_stats(PyObject* self, PyObject*) {
  const std::shared_ptr<go::Lane> lane = LaneObject::of(self).lane;
  if (!lane) return stats_dict({}, go::LaneStats());
  const go::LaneStats stats = lane->stats();
  return stats_dict(stats.queue, stats);
}

// fair_limiter(capacity, aging, max_waiting, /)
PyObject* fair_limiter(PyObject*, PyObject* args) {
  long long capacity = 0;
  double aging = 0;
  Py_ssize_t waiting = 0;
  if (PyArg_ParseTuple(args, "Ldn", &capacity, &aging, &waiting) == 0) return nullptr;
  if (capacity < 1 || waiting < 0 || !(aging >= 0)) {
    PyErr_SetString(PyExc_ValueError, "capacity is at least 1, aging and max_waiting at least 0");
    return nullptr;
  }
  go::LimiterOptions options;
  options.aging = seconds_ns(aging);
  options.max_waiting = static_cast<std::size_t>(waiting);
  return LimiterObject::make(g_limiter, std::make_shared<go::Limiter>(capacity, options));
}

// acquire(units, cost, on_done or None, deadline or None, priority, tenant, /) -> Ticket
PyObject* limiter_acquire(PyObject* self, PyObject* args) {
  long long units = 1;
  double cost = 0;
  PyObject *on_done = nullptr, *deadline = nullptr;
  int priority = 0;
  const char* tenant = nullptr;
  if (PyArg_ParseTuple(args, "LdOOis", &units, &cost, &on_done, &deadline, &priority, &tenant) ==
      0) {
    return nullptr;
  }
  if (units < 1) {
    PyErr_SetString(PyExc_ValueError, "units is at least 1");
    return nullptr;
  }
  std::optional<go::Context> context;
  if (!context_from(go::Context(), deadline, priority, tenant, 0, context)) return nullptr;
  const auto ticket = std::make_shared<Ticket>(*context, nullptr, on_done);
  Ref made(TicketObject::make(g_ticket, ticket));
  if (!made) return nullptr;
  const std::shared_ptr<go::Limiter> limiter = LimiterObject::of(self);
  const WithoutGil released;
  limiter->acquire(*context, {units, cost}, [ticket](go::WaitResult how, go::Permit permit) {
    ticket->permit = std::move(permit);
    ticket->end(how);
  });
  return made.release();
}

PyObject* limiter_set_weight(PyObject* self, PyObject* args) {
  const char* tenant = nullptr;
  double weight = 1;
  if (PyArg_ParseTuple(args, "sd", &tenant, &weight) == 0) return nullptr;
  if (!(weight > 0)) {
    PyErr_SetString(PyExc_ValueError, "a weight is above 0");
    return nullptr;
  }
  LimiterObject::of(self)->set_weight(tenant, weight);
  return none();
}

PyObject* limiter_set_capacity(PyObject* self, PyObject* number) {
  const long long capacity = PyLong_AsLongLong(number);
  if (PyErr_Occurred() != nullptr) return nullptr;
  const std::shared_ptr<go::Limiter> limiter = LimiterObject::of(self);
  const WithoutGil released;
  limiter->set_capacity(capacity);
  return none();
}

PyObject* limiter_stats(PyObject* self, PyObject*) {
  return stats_dict(LimiterObject::of(self)->stats(), std::nullopt);
}

PyObject* result_or_none(std::optional<go::WaitResult> result) noexcept {
  return result ? to_str(go::name(*result)) : none();
}

// wait(seconds or None, /): how it ended; None: not yet. Signals are seen to meanwhile.
PyObject* ticket_wait(PyObject* self, PyObject* limit) {
  using Clock = std::chrono::steady_clock;
  const std::shared_ptr<Ticket> ticket = TicketObject::of(self);
  Clock::time_point until = Clock::time_point::max();
  if (limit != Py_None) {
    const double seconds = PyFloat_AsDouble(limit);
    if (seconds == -1 && PyErr_Occurred() != nullptr) return nullptr;
    if (seconds < 1e9) until = Clock::now() + seconds_ns(seconds > 0 ? seconds : 0);
  }
  while (true) {
    bool done = false;
    {
      const WithoutGil released;
      const auto slice = std::min(until, Clock::now() + std::chrono::milliseconds(50));
      std::unique_lock lock(ticket->mutex);
      done = ticket->came.wait_until(lock, slice, [&] { return ticket->result.has_value(); });
    }
    if (done || Clock::now() >= until) return result_or_none(ticket->ended());
    if (PyErr_CheckSignals() != 0) return nullptr;
  }
}

PyObject* ticket_status(PyObject* self, void*) {
  return result_or_none(TicketObject::of(self)->ended());
}

PyObject* ticket_cancel(PyObject* self, PyObject*) {
  const std::shared_ptr<Ticket> ticket = TicketObject::of(self);
  const WithoutGil released;
  ticket->context.request_stop();
  return none();
}

// What the function gave, or raises what it raised; once it has ended with "ok".
PyObject* ticket_value(PyObject* self, PyObject*) {
  const std::shared_ptr<Ticket>& ticket = TicketObject::of(self);
  if (ticket->raised != nullptr) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(ticket->raised)), ticket->raised);
    return nullptr;
  }
  return ticket->value != nullptr ? another(ticket->value).release() : none();
}

PyObject* ticket_release(PyObject* self, PyObject*) {
  const std::shared_ptr<Ticket> ticket = TicketObject::of(self);
  const WithoutGil released;
  ticket->permit.release();
  return none();
}

Method ticket_methods[] = {reading<ticket_wait>("wait", METH_O),
                           reading<ticket_cancel>("cancel", METH_NOARGS),
                           reading<ticket_value>("value", METH_NOARGS),
                           reading<ticket_release>("release", METH_NOARGS),
                           {}};
Value ticket_values[] = {value<ticket_status>("status"), {}};
Slot ticket_slots[] = {
    Slot(ticket_methods), Slot(ticket_values), Slot::dealloc<TicketObject::dealloc>(), {}};
constexpr TypeSpec ticket_spec = {"genscope._core.Ticket", sizeof(TicketObject), ticket_slots,
                                  kMadeHere};

Method lane_methods[] = {reading<lane_post>("post", METH_VARARGS),
                         reading<lane_close>("close", METH_NOARGS),
                         reading<lane_stats>("stats", METH_NOARGS),
                         {}};
Slot lane_slots[] = {Slot(lane_methods), Slot::dealloc<LaneObject::dealloc>(), {}};
constexpr TypeSpec lane_spec = {"genscope._core.DeviceLane", sizeof(LaneObject), lane_slots,
                                kMadeHere};

Method limiter_methods[] = {reading<limiter_acquire>("acquire", METH_VARARGS),
                            reading<limiter_set_weight>("set_weight", METH_VARARGS),
                            reading<limiter_set_capacity>("set_capacity", METH_O),
                            reading<limiter_stats>("stats", METH_NOARGS),
                            {}};
Slot limiter_slots[] = {Slot(limiter_methods), Slot::dealloc<LimiterObject::dealloc>(), {}};
constexpr TypeSpec limiter_spec = {"genscope._core.FairLimiter", sizeof(LimiterObject),
                                   limiter_slots, kMadeHere};

Method optimize_lanes_functions[] = {reading<device_lane>("device_lane", METH_VARARGS),
                                     reading<fair_limiter>("fair_limiter", METH_VARARGS),
                                     {}};

}  // namespace

bool add_optimize_lanes(PyObject* module) {
  g_ticket = make_type(module, ticket_spec);
  g_lane = make_type(module, lane_spec);
  g_limiter = make_type(module, limiter_spec);
  return g_ticket != nullptr && g_lane != nullptr && g_limiter != nullptr &&
         add_functions(module, optimize_lanes_functions);
}

}  // namespace genscope::python

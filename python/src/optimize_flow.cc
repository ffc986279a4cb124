// Retries, breakers and hedged calls for genscope.optimize: decisions only; waiting is Python's.
#include <genscope/optimize/retry.h>

#include <algorithm>
#include <string>

#include "monitors.h"
#include "optimize_flow.h"

namespace genscope::python {
namespace {

using namespace genscope::optimize;

// --- budget

using BudgetObject = Holder<RetryBudget>;
PyTypeObject* g_budget = nullptr;

PyObject* budget_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"tokens", "success_earns", "failure_costs", nullptr};
  RetryBudgetOptions options;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|$ddd", const_cast<char**>(names),
                                  &options.tokens, &options.success_earns,
                                  &options.failure_costs) == 0) {
    return nullptr;
  }
  return BudgetObject::make(type, options);
}
PyObject* budget_succeeded(PyObject* self, PyObject*) {
  BudgetObject::of(self).succeeded();
  return none();
}
PyObject* budget_tokens(PyObject* self, void*) {
  return PyFloat_FromDouble(BudgetObject::of(self).tokens());
}
PyObject* budget_may_retry(PyObject* self, void*) {
  return PyBool_FromLong(BudgetObject::of(self).may_retry() ? 1 : 0);
}
Method budget_methods[] = {
    reading<budget_succeeded>("succeeded", METH_NOARGS, "A call went well."),
    {},
};
Value budget_values[] = {
    value<budget_tokens>("tokens", "Left; retries stop while at most half are."),
    value<budget_may_retry>("may_retry", "Whether a retry would be allowed."),
    {},
};
Slot budget_slots[] = {
    Slot::made<budget_new, BudgetObject>(),
    Slot::dealloc<BudgetObject::dealloc>(),
    Slot(budget_methods),
    Slot(budget_values),
    {},
};
constexpr TypeSpec budget_spec = {"genscope._core.RetryBudget", sizeof(BudgetObject), budget_slots};

// --- one call

struct OwnedRun {
  Ref budget;  // lives as long as the run
  RetryRun run;
};
using RunObject = Holder<OwnedRun>;

PyObject* run_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"name",  "attempts", "base",   "cap",
                                "least", "timeout",  "budget", nullptr};
  RetryPolicy policy;
  const char* name = "retry";
  PyObject *timeout = Py_None, *budget = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|$sidddOO", const_cast<char**>(names), &name,
                                  &policy.attempts, &policy.base_seconds, &policy.cap_seconds,
                                  &policy.least_seconds, &timeout, &budget) == 0) {
    return nullptr;
  }
  policy.name = name;
  std::int64_t deadline = kNoDeadline;
  if (!deadline_after(timeout, deadline)) return nullptr;
  RetryBudget* shared = nullptr;
  if (budget != Py_None) {
    if (PyType_IsSubtype(Py_TYPE(budget), g_budget) == 0) {
      PyErr_SetString(PyExc_TypeError, "budget is a RetryBudget or None");
      return nullptr;
    }
    shared = &BudgetObject::of(budget);
  }
  return RunObject::make(type, budget != Py_None ? another(budget) : Ref(),
                         RetryRun(std::move(policy), deadline, shared));
}
PyObject* run_succeeded(PyObject* self, PyObject*) {
  RunObject::of(self).run.succeeded();
  return none();
}
// failed(kind, retry_after, uniform) -> (again, wait_seconds, evict_first, why)
PyObject* run_failed(PyObject* self, PyObject* args) {
  const char* kind = nullptr;
  PyObject* after = Py_None;
  double uniform = 0;
  if (PyArg_ParseTuple(args, "sOd", &kind, &after, &uniform) == 0) return nullptr;
  Failed failure;
  if (!failure_from(kind, failure)) return nullptr;
  double seconds = 0;
  if (number_from(after, seconds)) failure.retry_after_seconds = seconds;
  OwnedRun& owned = RunObject::of(self);
  const RetryNext next = owned.run.failed(failure, flow_now_ns(), uniform);
  optimize::internal::count_retry(owned.run, next);
  return Py_BuildValue("NdNs", PyBool_FromLong(next.again ? 1 : 0),
                       static_cast<double>(next.wait_ns) * 1e-9,
                       PyBool_FromLong(next.evict_first ? 1 : 0), name(next.stop));
}
PyObject* run_attempt(PyObject* self, void*) {
  return PyLong_FromLong(RunObject::of(self).run.attempt());
}
Method run_methods[] = {
    reading<run_succeeded>("succeeded", METH_NOARGS, "The call went well."),
    reading<run_failed>(
        "failed", METH_VARARGS,
        "failed(kind, retry_after, uniform) -> (again, wait_seconds, evict_first, why)"),
    {},
};
Value run_values[] = {value<run_attempt>("attempt", "From 1."), {}};
Slot run_slots[] = {
    Slot::made<run_new, RunObject>(),
    Slot::dealloc<RunObject::dealloc>(),
    Slot(run_methods),
    Slot(run_values),
    {},
};
constexpr TypeSpec run_spec = {"genscope._core.RetryRun", sizeof(RunObject), run_slots};

// --- breaker

using BreakerObject = Holder<Breaker>;

PyObject* breaker_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {
      "name",         "window", "least_calls",  "failure_ratio",     "slow_ratio",
      "slow_seconds", "probes", "open_seconds", "open_most_seconds", nullptr};
  BreakerOptions options;
  const char* name = "breaker";
  Py_ssize_t window = static_cast<Py_ssize_t>(options.window);
  Py_ssize_t least = static_cast<Py_ssize_t>(options.least_calls);
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|$snndddidd", const_cast<char**>(names), &name,
                                  &window, &least, &options.failure_ratio, &options.slow_ratio,
                                  &options.slow_seconds, &options.probes, &options.open_seconds,
                                  &options.open_most_seconds) == 0) {
    return nullptr;
  }
  if (window < 1 || window > 1'000'000 || least < 1) {
    PyErr_SetString(PyExc_ValueError, "window is from 1 to 1000000 calls, least_calls from 1");
    return nullptr;
  }
  options.name = name;
  options.window = static_cast<std::size_t>(window);
  options.least_calls = static_cast<std::size_t>(least);
  return BreakerObject::make(type, std::move(options));
}
PyObject* breaker_ask(PyObject* self, PyObject*) {
  const auto pass = BreakerObject::of(self).ask();
  return pass ? PyLong_FromUnsignedLongLong(pass->round) : none();
}
PyObject* breaker_tell(PyObject* self, PyObject* args) {
  unsigned long long round = 0;
  int ok = 0;
  double seconds = 0;
  if (PyArg_ParseTuple(args, "Kpd", &round, &ok, &seconds) == 0) return nullptr;
  BreakerObject::of(self).tell({round}, ok != 0, seconds);
  return none();
}
PyObject* breaker_state(PyObject* self, void*) {
  return to_str(name(BreakerObject::of(self).state()));
}
PyObject* breaker_after(PyObject* self, void*) {
  return PyFloat_FromDouble(BreakerObject::of(self).retry_after_seconds(flow_now_ns()));
}
PyObject* breaker_refused(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(BreakerObject::of(self).refused());
}
Method breaker_methods[] = {
    reading<breaker_ask>("ask", METH_NOARGS, "ask() -> pass, or None: refused"),
    reading<breaker_tell>("tell", METH_VARARGS, "tell(pass, ok, seconds)"),
    {},
};
Value breaker_values[] = {
    value<breaker_state>("state", "closed, half_open or open"),
    value<breaker_after>("retry_after", "Seconds until calls may be let through; 0: now."),
    value<breaker_refused>("refused", "Calls that were refused."),
    {},
};
Slot breaker_slots[] = {
    Slot::made<breaker_new, BreakerObject>(),
    Slot::dealloc<BreakerObject::dealloc>(),
    Slot(breaker_methods),
    Slot(breaker_values),
    {},
};
constexpr TypeSpec breaker_spec = {"genscope._core.Breaker", sizeof(BreakerObject), breaker_slots,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE};

// --- hedging

using HedgeObject = Holder<Hedge>;

PyObject* hedge_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"name", "quantile", "extra_ratio", "burst", nullptr};
  HedgeOptions options;
  const char* name = "hedge";
  Py_ssize_t burst = static_cast<Py_ssize_t>(options.burst);
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|$sddn", const_cast<char**>(names), &name,
                                  &options.quantile, &options.extra_ratio, &burst) == 0) {
    return nullptr;
  }
  options.name = name;
  options.burst = burst > 0 ? static_cast<std::size_t>(burst) : 1;
  return HedgeObject::make(type, std::move(options));
}
PyObject* hedge_begin(PyObject* self, PyObject*) {
  const auto after = HedgeObject::of(self).begin();
  return after ? PyFloat_FromDouble(static_cast<double>(*after) * 1e-9) : none();
}
PyObject* hedge_copy(PyObject* self, PyObject* args) {
  Py_ssize_t devices = 0, used = 0;
  if (PyArg_ParseTuple(args, "nn", &devices, &used) == 0) return nullptr;
  if (devices < 0 || used < 0 || used >= devices) return none();
  const auto other =
      HedgeObject::of(self).copy(static_cast<std::size_t>(devices), static_cast<std::size_t>(used));
  return other ? PyLong_FromSize_t(*other) : none();
}
PyObject* hedge_finished(PyObject* self, PyObject* seconds) {
  const double took = PyFloat_AsDouble(seconds);
  if (took == -1.0 && PyErr_Occurred() != nullptr) return nullptr;
  HedgeObject::of(self).finished(took);
  return none();
}
PyObject* hedge_calls(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(HedgeObject::of(self).calls());
}
PyObject* hedge_copies(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(HedgeObject::of(self).copies());
}
Method hedge_methods[] = {
    reading<hedge_begin>("begin", METH_NOARGS, "begin() -> seconds before a copy, or None"),
    reading<hedge_copy>("copy", METH_VARARGS, "copy(devices, used) -> device of the copy, or None"),
    reading<hedge_finished>("finished", METH_O, "finished(seconds)"),
    {},
};
Value hedge_values[] = {value<hedge_calls>("calls"), value<hedge_copies>("copies"), {}};
Slot hedge_slots[] = {
    Slot::made<hedge_new, HedgeObject>(),
    Slot::dealloc<HedgeObject::dealloc>(),
    Slot(hedge_methods),
    Slot(hedge_values),
    {},
};
constexpr TypeSpec hedge_spec = {"genscope._core.Hedge", sizeof(HedgeObject), hedge_slots};

}  // namespace

bool deadline_after(PyObject* timeout, std::int64_t& deadline_ns) noexcept {
  deadline_ns = optimize::kNoDeadline;
  if (timeout == Py_None) return true;
  const double seconds = PyFloat_AsDouble(timeout);
  if (seconds == -1.0 && PyErr_Occurred() != nullptr) return false;
  if (seconds < 1e9) {
    deadline_ns =
        optimize::flow_now_ns() + static_cast<std::int64_t>(std::max(-1e9, seconds) * 1e9);
  }
  return true;
}

bool failure_from(const char* kind, optimize::Failed& failure) noexcept {
  const auto known = optimize::failure_named(kind);
  if (!known) {
    PyErr_Format(PyExc_ValueError, "%s is no kind of failure; see genscope.optimize.Failed", kind);
    return false;
  }
  failure.kind = *known;
  return true;
}

bool add_optimize_flow(PyObject* module) {
  g_budget = make_type(module, budget_spec);
  return g_budget != nullptr &&
         PyModule_AddObject(module, "RetryBudget",
                            another(reinterpret_cast<PyObject*>(g_budget)).release()) == 0 &&
         add_type(module, run_spec, "RetryRun") && add_type(module, breaker_spec, "Breaker") &&
         add_type(module, hedge_spec, "Hedge") && add_optimize_queues(module);
}

}  // namespace genscope::python

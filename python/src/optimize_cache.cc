// genscope._core.MemoryCache: genscope.optimize.Cache without its tiers. Values are Python objects.
//
// Calls keep the GIL: they take microseconds and never wait for a load. Those who wait for one do
// so in Python, on what a callback fills; callbacks run while the thread that ends the load has the
// GIL.
#include <genscope/optimize/cache.h>

#include <cmath>
#include <memory>
#include <string>

#include "optimize_key.h"

namespace genscope::python {
namespace {

using CacheObject = Holder<optimize::Cache>;
using LeadObject = Holder<optimize::Lead>;
using WaitingObject = Holder<optimize::Waiting>;

PyTypeObject *g_cache_type = nullptr, *g_lead_type = nullptr, *g_waiting_type = nullptr;

// The exception that a lead fails with, while its followers are told.
thread_local PyObject* g_failing = nullptr;

void drop_object(void* data, void*) {
  if (Py_IsInitialized() == 0) return;  // the interpreter has gone, and its objects with it
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(data));
  PyGILState_Release(state);
}

optimize::Value value_of(PyObject* object, std::size_t bytes) {
  optimize::Value value = optimize::Value::adopt(object, bytes, drop_object);
  Py_INCREF(object);
  return value;
}

PyObject* object_in(const optimize::Value& value) noexcept {
  return value ? another(value.as<PyObject>()).release() : none();
}

bool policy_named(std::string_view name, optimize::CachePolicy& policy) {
  using P = optimize::CachePolicy;
  const std::pair<const char*, P> known[] = {
      {"auto", P::automatic}, {"adaptive", P::adaptive}, {"s3", P::s3}, {"gdsf", P::gdsf}};
  for (const auto& [called, is] : known) {
    if (name != called) continue;
    policy = is;
    return true;
  }
  PyErr_Format(PyExc_ValueError, "policy is one of auto, adaptive, s3, gdsf, and not %s",
               std::string(name).c_str());
  return false;
}

// {kind: share}
bool floors_from(PyObject* dict, std::vector<optimize::KindFloor>& floors) {
  PyObject *kind = nullptr, *share = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &kind, &share) != 0) {
    std::string_view name;
    if (!text_of(kind, name)) return false;
    const double part = PyFloat_AsDouble(share);
    if (PyErr_Occurred() != nullptr) return false;
    floors.push_back({std::string(name), part});
  }
  return true;
}

// memory_cache(capacity, policy, ttl, soft_ttl, stale_on_error, largest_share, early_refresh,
// floors, /); 0: none
PyObject* memory_cache(PyObject*, PyObject* args) {
  unsigned long long capacity = 0;
  const char* policy = nullptr;
  PyObject* floors = nullptr;
  optimize::CacheOptions options;
  if (PyArg_ParseTuple(args, "KsdddddO!", &capacity, &policy, &options.ttl_s, &options.soft_ttl_s,
                       &options.stale_on_error_s, &options.largest_share, &options.early_refresh,
                       &PyDict_Type, &floors) == 0 ||
      !policy_named(policy, options.policy) || !floors_from(floors, options.floors)) {
    return nullptr;
  }
  options.capacity_bytes = capacity;
  if (const Status usable = optimize::Cache::check(options); !usable) return raise(usable.error());
  return CacheObject::make(g_cache_type, options);
}

// get(key, default=None, /)
PyObject* cache_get(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (!arity(count, 1, 2, "get(key, default=None)")) return nullptr;
  optimize::Key made;
  const optimize::Key* const key = key_of(args[0], made);
  if (key == nullptr) return nullptr;
  const optimize::Value value = CacheObject::of(self).get(*key);
  if (value) return another(value.as<PyObject>()).release();
  return count == 2 ? another(args[1]).release() : none();
}

// bytes, cost, ttl, soft_ttl behind the first `from` arguments
bool put_options(PyObject* const* args, std::size_t& bytes, optimize::PutOptions& options) {
  const Py_ssize_t size = PyLong_AsSsize_t(args[0]);
  if (size < 0) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_ValueError, "bytes is below 0");
    return false;
  }
  bytes = static_cast<std::size_t>(size);
  options.cost_s = PyFloat_AsDouble(args[1]);
  options.ttl_s = PyFloat_AsDouble(args[2]);
  options.soft_ttl_s = PyFloat_AsDouble(args[3]);
  return PyErr_Occurred() == nullptr;
}

// put(key, value, bytes, cost, ttl, soft_ttl, /); ttl below 0: the cache's
PyObject* cache_put(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (!arity(count, 6, 6, "put(key, value, bytes, cost, ttl, soft_ttl)")) return nullptr;
  optimize::Key made;
  const optimize::Key* const key = key_of(args[0], made);
  std::size_t bytes = 0;
  optimize::PutOptions options;
  if (key == nullptr || !put_options(args + 2, bytes, options)) return nullptr;
  const bool kept = CacheObject::of(self).put(*key, value_of(args[1], bytes), options);
  return PyBool_FromLong(kept ? 1 : 0);
}

PyObject* cache_erase(PyObject* self, PyObject* object) {
  optimize::Key made;
  const optimize::Key* const key = key_of(object, made);
  if (key == nullptr) return nullptr;
  return PyBool_FromLong(CacheObject::of(self).erase(*key) ? 1 : 0);
}

PyObject* cache_contains(PyObject* self, PyObject* object) {
  optimize::Key made;
  const optimize::Key* const key = key_of(object, made);
  if (key == nullptr) return nullptr;
  return PyBool_FromLong(CacheObject::of(self).contains(*key) ? 1 : 0);
}

PyObject* cache_clear(PyObject* self, PyObject*) {
  CacheObject::of(self).clear();
  return none();
}

PyObject* cache_resize(PyObject* self, PyObject* bytes) {
  const unsigned long long capacity = PyLong_AsUnsignedLongLong(bytes);
  if (PyErr_Occurred() != nullptr) return nullptr;
  CacheObject::of(self).resize(capacity);
  return none();
}

PyObject* cache_size(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(CacheObject::of(self).size());
}

// --- statistics

PyObject* float_or_none(double value) noexcept {
  return std::isnan(value) ? none() : PyFloat_FromDouble(value);
}

PyObject* dict_of(const optimize::KindStats& stats) {
  using U = unsigned long long;
  return Py_BuildValue(
      "{sKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsdsNsN}", "hits", static_cast<U>(stats.hits), "misses",
      static_cast<U>(stats.misses), "coalesced", static_cast<U>(stats.coalesced), "stale",
      static_cast<U>(stats.stale), "early", static_cast<U>(stats.early), "floor_bytes",
      static_cast<U>(stats.floor_bytes), "negative", static_cast<U>(stats.negative), "loads",
      static_cast<U>(stats.loads), "load_failures", static_cast<U>(stats.load_failures), "inserted",
      static_cast<U>(stats.inserted), "evicted", static_cast<U>(stats.evicted), "expired",
      static_cast<U>(stats.expired), "rejected", static_cast<U>(stats.rejected), "entries",
      static_cast<U>(stats.entries), "bytes", static_cast<U>(stats.bytes), "cost_saved_s",
      stats.cost_saved_s, "load_p50_s", float_or_none(stats.load_p50_s), "load_p99_s",
      float_or_none(stats.load_p99_s));
}

PyObject* cache_stats(PyObject* self, PyObject*) {
  const optimize::CacheStats stats = CacheObject::of(self).stats();
  const Ref kinds(PyDict_New());
  if (!kinds) return nullptr;
  for (const optimize::KindStats& kind : stats.kinds) {
    const Ref name(to_str(kind.kind)), figures(dict_of(kind));
    if (!name || !figures || PyDict_SetItem(kinds.get(), name.get(), figures.get()) != 0)
      return nullptr;
  }
  Ref all(dict_of(stats.total));
  const Ref rest(Py_BuildValue(
      "{sKsKsssKsO}", "capacity_bytes", static_cast<unsigned long long>(stats.capacity_bytes),
      "pinned_bytes", static_cast<unsigned long long>(stats.pinned_bytes), "policy",
      stats.policy.c_str(), "loading", static_cast<unsigned long long>(stats.loading), "kinds",
      kinds.get()));
  if (!all || !rest || PyDict_Update(all.get(), rest.get()) != 0) return nullptr;
  return all.release();
}

// --- loads

// (outcome, value or exception or None, lead or None)
PyObject* tuple_of(optimize::Fetched fetched) {
  Ref lead(fetched.lead ? LeadObject::make(g_lead_type, std::move(fetched.lead)) : none());
  if (!lead) return nullptr;
  if (!fetched.value && g_failing != nullptr) {
    return Py_BuildValue("sON", optimize::name(fetched.outcome), g_failing, lead.release());
  }
  return Py_BuildValue("sNN", optimize::name(fetched.outcome), object_in(fetched.value),
                       lead.release());
}

// A function of Python as a callback. Shared, for std::function copies.
struct Callback {
  explicit Callback(PyObject* f) noexcept : function(f) { Py_INCREF(f); }
  ~Callback() { drop_object(function, nullptr); }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  PyObject* function;
};

optimize::OnFetched callback_to(PyObject* function) {
  const auto callback = std::make_shared<Callback>(function);
  return [callback](optimize::Fetched fetched) {
    const PyGILState_STATE state = PyGILState_Ensure();
    {
      const Aside aside;
      const Ref mail(tuple_of(std::move(fetched)));
      const Ref done(mail ? PyObject_CallFunctionObjArgs(callback->function, mail.get(), nullptr)
                          : nullptr);
      if (!done) PyErr_WriteUnraisable(callback->function);
    }
    PyGILState_Release(state);
  };
}

// begin(key, callback, /) -> (outcome, value, lead, waiting). The callback gets (outcome, value,
// lead).
PyObject* cache_begin(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (!arity(count, 2, 2, "begin(key, callback)")) return nullptr;
  optimize::Key made;
  const optimize::Key* const key = key_of(args[0], made);
  if (key == nullptr) return nullptr;
  optimize::Waiting waiting;
  optimize::Fetched fetched = CacheObject::of(self).begin(*key, callback_to(args[1]), &waiting);
  const bool waits = fetched.outcome == optimize::Outcome::wait;
  const Ref told(tuple_of(std::move(fetched)));
  if (!told) return nullptr;
  Ref place(waits ? WaitingObject::make(g_waiting_type, waiting) : none());
  if (!place) return nullptr;
  return Py_BuildValue("OOON", PyTuple_GetItem(told.get(), 0), PyTuple_GetItem(told.get(), 1),
                       PyTuple_GetItem(told.get(), 2), place.release());
}

// finish(value, bytes, cost, ttl, soft_ttl, /); cost 0: as measured
PyObject* lead_finish(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (!arity(count, 5, 5, "finish(value, bytes, cost, ttl, soft_ttl)")) return nullptr;
  std::size_t bytes = 0;
  optimize::PutOptions options;
  if (!put_options(args + 1, bytes, options)) return nullptr;
  LeadObject::of(self).finish(value_of(args[0], bytes), options);
  return none();
}

// fail(exception, /) -> (True, value) if an old entry answers for it, else (False, None)
PyObject* lead_fail(PyObject* self, PyObject* exception) {
  struct Restore {
    PyObject* before;
    ~Restore() { g_failing = before; }
  } const restore{g_failing};
  g_failing = exception;
  const optimize::Value instead = LeadObject::of(self).fail({ErrorCode::io, "a loader raised"});
  return Py_BuildValue("NN", PyBool_FromLong(instead ? 1 : 0), object_in(instead));
}

PyObject* lead_abandon(PyObject* self, PyObject*) {
  LeadObject::of(self).abandon();
  return none();
}

PyObject* waiting_cancel(PyObject* self, PyObject*) {
  return PyBool_FromLong(WaitingObject::of(self).cancel() ? 1 : 0);
}

Method cache_methods[] = {
    reading<cache_get>("get", METH_FASTCALL, "get(key, default=None, /)"),
    reading<cache_put>("put", METH_FASTCALL, "put(key, value, bytes, cost, ttl, soft_ttl, /)"),
    reading<cache_erase>("erase", METH_O),
    reading<cache_contains>("contains", METH_O),
    reading<cache_clear>("clear", METH_NOARGS),
    reading<cache_resize>("resize", METH_O),
    reading<cache_size>("size", METH_NOARGS),
    reading<cache_stats>("stats", METH_NOARGS),
    reading<cache_begin>("begin", METH_FASTCALL, "begin(key, callback, /)"),
    {},
};
Slot cache_slots[] = {Slot::dealloc<CacheObject::dealloc>(), Slot(cache_methods), {}};
constexpr TypeSpec cache_spec = {"genscope._core.MemoryCache", sizeof(CacheObject), cache_slots,
                                 kMadeHere};

Method lead_methods[] = {
    reading<lead_finish>("finish", METH_FASTCALL, "finish(value, bytes, cost, ttl, soft_ttl, /)"),
    reading<lead_fail>("fail", METH_O, "fail(exception, /)"),
    reading<lead_abandon>("abandon", METH_NOARGS, "Whoever waits first leads now."),
    {},
};
Slot lead_slots[] = {Slot::dealloc<LeadObject::dealloc>(), Slot(lead_methods), {}};
constexpr TypeSpec lead_spec = {"genscope._core.CacheLead", sizeof(LeadObject), lead_slots,
                                kMadeHere};

Method waiting_methods[] = {
    reading<waiting_cancel>("cancel", METH_NOARGS, "Whether the callback will not be called."),
    {},
};
Slot waiting_slots[] = {Slot::dealloc<WaitingObject::dealloc>(), Slot(waiting_methods), {}};
constexpr TypeSpec waiting_spec = {"genscope._core.CacheWaiting", sizeof(WaitingObject),
                                   waiting_slots, kMadeHere};

Method optimize_cache_functions[] = {
    reading<memory_cache>(
        "memory_cache", METH_VARARGS,
        "memory_cache(capacity, policy, ttl, soft_ttl, stale_on_error, largest_share=0.1, /)"),
    {},
};

}  // namespace

bool add_optimize_cache(PyObject* module) {
  if (!add_optimize_key(module)) return false;
  g_cache_type = make_type(module, cache_spec);
  g_lead_type = make_type(module, lead_spec);
  g_waiting_type = make_type(module, waiting_spec);
  return g_cache_type != nullptr && g_lead_type != nullptr && g_waiting_type != nullptr &&
         add_functions(module, optimize_cache_functions);
}

}  // namespace genscope::python

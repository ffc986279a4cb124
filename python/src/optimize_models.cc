// ModelManager for genscope.optimize.
//
// A model is an object of Python, held by the manager's ModelPointer. Functions of Python run on
// threads of the manager, with the GIL; nothing here waits with it, and no lock of the manager is
// held while it is taken.
#include <genscope/optimize/models.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "calls.h"
#include "entry.h"
#include "monitors.h"
#include "rows.h"

namespace genscope::python {
namespace {

using namespace genscope::optimize;

using ManagerObject = Holder<std::unique_ptr<ModelManager>>;
using LeaseObject = Holder<ModelLease>;

PyTypeObject* g_lease_type = nullptr;  // owned by the module

// A reference that may be copied and let go without the GIL.
using Shared = std::shared_ptr<PyObject>;
Shared shared(PyObject* object) {
  Py_INCREF(object);
  return Shared(object, [](PyObject* held) {
    const WithGil gil;
    Py_DECREF(held);
  });
}

// The exception that is set, as an Error: out of memory if its type says so.
Error taken_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Ref a(type), b(value), c(trace);
  Error error{ErrorCode::io, "it raised something"};
  if (!a) return error;
  const Ref name(PyObject_GetAttrString(type, "__name__"));
  std::string_view text;
  if (name && text_of(name.get(), text)) error.message = text;
  if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError) != 0 ||
      error.message.find("OutOfMemory") != std::string::npos) {
    error.code = ErrorCode::no_space;
  }
  const Ref said(value != nullptr ? PyObject_Str(value) : nullptr);
  if (said && text_of(said.get(), text) && !text.empty()) error.message += ": " + std::string(text);
  PyErr_Clear();
  return error;
}

Status call_status(PyObject* function, PyObject* args) {
  const Ref own(args);
  const Ref done(own ? PyObject_CallObject(function, own.get()) : nullptr);
  if (done) return Done{};
  return taken_error();
}

PyObject* object_of(const ModelPointer& model) { return static_cast<PyObject*>(model.get()); }

ModelPointer pointer_to(PyObject* owned) {
  return ModelPointer(owned, [](void* held) {
    const WithGil gil;
    Py_DECREF(static_cast<PyObject*>(held));
  });
}

// A function of the dict, or null for None.
Shared function_in(PyObject* dict, const char* key) {
  PyObject* const function = PyDict_GetItemString(dict, key);
  return function == nullptr || function == Py_None ? nullptr : shared(function);
}

ModelHooks hooks_from(PyObject* dict) {
  ModelHooks hooks;
  const Shared load = function_in(dict, "load"), unload = function_in(dict, "unload"),
               sleep = function_in(dict, "sleep"), wake = function_in(dict, "wake"),
               size = function_in(dict, "size"), warmup = function_in(dict, "warmup");
  hooks.load = [load](const LoadCall& call) -> Result<ModelPointer> {
    const WithGil gil;
    const Ref args(Py_BuildValue("(N)", to_str(call.device)));
    PyObject* const model = args ? PyObject_CallObject(load.get(), args.get()) : nullptr;
    if (model == nullptr) return taken_error();
    return pointer_to(model);
  };
  if (unload) {
    hooks.unload = [unload](const ModelPointer& model, std::string_view device) -> Status {
      const WithGil gil;
      return call_status(unload.get(), Py_BuildValue("(ON)", object_of(model), to_str(device)));
    };
  }
  const auto at_level = [](const Shared& function) {
    return [function](const ModelPointer& model, std::uint32_t level) -> Status {
      const WithGil gil;
      return call_status(function.get(), Py_BuildValue("(OI)", object_of(model), level));
    };
  };
  if (sleep) hooks.sleep = at_level(sleep);
  if (wake) hooks.wake = at_level(wake);
  if (size) {
    hooks.size = [size](const ModelPointer& model) -> std::uint64_t {
      const WithGil gil;
      const Ref bytes(PyObject_CallFunctionObjArgs(size.get(), object_of(model), nullptr));
      const unsigned long long value = bytes ? PyLong_AsUnsignedLongLong(bytes.get()) : 0;
      if (PyErr_Occurred() == nullptr) return value;
      PyErr_Clear();
      return 0;
    };
  }
  if (warmup) {
    hooks.warmup = [warmup](const ModelPointer& model) -> Status {
      const WithGil gil;
      return call_status(warmup.get(), Py_BuildValue("(O)", object_of(model)));
    };
  }
  return hooks;
}

// Numbers and texts of a dict of settings.
bool number_in(PyObject* dict, const char* key, double& value) {
  return number_from(PyDict_GetItemString(dict, key), value);
}
template <class T>
void integer_in(PyObject* dict, const char* key, T& value, double scale = 1) {
  double number = 0;
  if (number_in(dict, key, number)) value = static_cast<T>(number * scale);
}
std::string text_in(PyObject* dict, const char* key) {
  PyObject* const item = PyDict_GetItemString(dict, key);
  std::string_view text;
  if (item == nullptr || PyUnicode_Check(item) == 0 || !text_of(item, text)) return {};
  return std::string(text);
}

PyObject* manager_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* dict = nullptr;
  if (PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict) == 0) return nullptr;
  ManagerOptions options;
  BookOptions& book = options.book;
  number_in(dict, "residency_factor", book.residency_factor);
  number_in(dict, "margin", book.declared_margin);
  integer_in(dict, "patience", book.patience_ns, 1e9);
  integer_in(dict, "disk_readers", book.disk_readers);
  integer_in(dict, "host_bytes", book.host_bytes);
  integer_in(dict, "group_limit", book.group_limit);
  integer_in(dict, "backoff", book.backoff_ns, 1e9);
  integer_in(dict, "backoff_max", book.backoff_max_ns, 1e9);
  integer_in(dict, "why_entries", book.why_entries);
  if (const Shared measure = function_in(dict, "measure")) {
    options.used_bytes = [measure](std::string_view device) -> std::optional<std::uint64_t> {
      const WithGil gil;
      const Ref name(to_str(device));
      const Ref said(name ? PyObject_CallFunctionObjArgs(measure.get(), name.get(), nullptr)
                          : nullptr);
      double value = 0;
      if (!said) PyErr_Clear();
      if (!number_from(said.get(), value) || value < 0) return {};
      return static_cast<std::uint64_t>(value);
    };
  }
  return ManagerObject::make(type, std::make_unique<ModelManager>(options));
}

ModelManager& manager_in(PyObject* self) { return *ManagerObject::of(self); }

PyObject* status_or_none(const Status& status) { return status ? none() : raise(status.error()); }

// add_device(dict)
PyObject* manager_add_device(PyObject* self, PyObject* dict) {
  DeviceSpec spec;
  spec.name = text_in(dict, "name");
  integer_in(dict, "bytes", spec.bytes);
  integer_in(dict, "activation_bytes", spec.activation_bytes);
  integer_in(dict, "slots", spec.slots);
  double stops = 0;
  spec.load_stops_work = number_in(dict, "load_stops_work", stops) && stops != 0;
  return status_or_none(manager_in(self).add_device(spec));
}

// add(dict)
PyObject* manager_add(PyObject* self, PyObject* dict) {
  ModelSpec spec;
  spec.name = text_in(dict, "name");
  spec.group = text_in(dict, "group");
  spec.then = text_in(dict, "then");
  integer_in(dict, "bytes", spec.bytes);
  integer_in(dict, "priority", spec.priority);
  integer_in(dict, "keep_alive", spec.keep_alive_ns, 1e9);
  integer_in(dict, "load_seconds", spec.load_ns, 1e9);
  if (PyDict_GetItemString(dict, "sleep") != nullptr) {
    SleepLevel level;
    integer_in(dict, "sleep_bytes", level.device_bytes);
    level.host_bytes = spec.bytes;
    spec.sleep.push_back(level);
  }
  return status_or_none(manager_in(self).add(spec, hooks_from(dict)));
}

struct ModelAsked {
  std::string model, device;
  LeaseOptions options;
};
// (model, timeout or None, priority, device or None[, callback])
bool asked_from(PyObject* args, ModelAsked& asked, PyObject** callback) {
  const char *model = nullptr, *device = nullptr;
  PyObject* timeout = nullptr;
  int priority = 0;
  const bool read =
      callback != nullptr
          ? PyArg_ParseTuple(args, "sOizO", &model, &timeout, &priority, &device, callback) != 0
          : PyArg_ParseTuple(args, "sOiz", &model, &timeout, &priority, &device) != 0;
  if (!read) return false;
  asked.model = model;
  asked.device = device != nullptr ? device : "";
  asked.options.priority = priority;
  asked.options.device = asked.device;
  double seconds = 0;
  if (number_from(timeout, seconds) && seconds < 9e9) {
    asked.options.timeout_ns = static_cast<std::int64_t>(seconds * 1e9);
  }
  return true;
}

// (lease, refusal, message), of which the first or the other two are None. With the GIL.
PyObject* answer_tuple(LeaseAnswer& answer) {
  if (answer.refusal != LeaseRefusal::none) {
    return Py_BuildValue("(ONN)", Py_None, to_str(name(answer.refusal)),
                         to_str(answer.error.message));
  }
  Ref lease(LeaseObject::make(g_lease_type, std::move(answer.lease)));
  if (!lease) return nullptr;
  return Py_BuildValue("(NOO)", lease.release(), Py_None, Py_None);
}

// lease(model, timeout, priority, device) -> (lease, refusal, message). Waits without the GIL;
// Ctrl-C withdraws the request.
PyObject* manager_lease(PyObject* self, PyObject* args) {
  ModelAsked asked;
  if (!asked_from(args, asked, nullptr)) return nullptr;
  struct Wait {
    std::mutex mutex;
    std::condition_variable come;
    std::optional<LeaseAnswer> answer;
  };
  const auto wait = std::make_shared<Wait>();
  ModelManager& manager = manager_in(self);
  std::uint64_t id = 0;
  for (bool first = true, come = false; !come; first = false) {
    {
      const WithoutGil released;
      if (first) {
        id = manager.lease(asked.model, asked.options, [wait](LeaseAnswer answer) {
          const std::lock_guard lock(wait->mutex);
          wait->answer = std::move(answer);
          wait->come.notify_all();
        });
      }
      std::unique_lock lock(wait->mutex);
      come = wait->come.wait_for(lock, std::chrono::milliseconds(50),
                                 [&] { return wait->answer.has_value(); });
    }
    if (!come && PyErr_CheckSignals() != 0) {
      const Aside exception;
      const WithoutGil released;
      manager.cancel(id);
      break;
    }
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  return answer_tuple(*wait->answer);
}

// request(model, timeout, priority, device, callback) -> int. callback(lease, refusal, message) is
// called once, on any thread, perhaps before this returns.
PyObject* manager_request(PyObject* self, PyObject* args) {
  ModelAsked asked;
  PyObject* callback = nullptr;
  if (!asked_from(args, asked, &callback)) return nullptr;
  const Shared then = shared(callback);
  std::uint64_t id = 0;
  {
    const WithoutGil released;
    id = manager_in(self).lease(asked.model, asked.options, [then](LeaseAnswer answer) {
      const WithGil gil;
      const Ref tuple(answer_tuple(answer));
      const Ref done(tuple ? PyObject_CallObject(then.get(), tuple.get()) : nullptr);
      if (!done) PyErr_WriteUnraisable(then.get());
    });
  }
  return PyLong_FromUnsignedLongLong(id);
}

PyObject* manager_cancel(PyObject* self, PyObject* id) {
  const unsigned long long request = PyLong_AsUnsignedLongLong(id);
  if (PyErr_Occurred() != nullptr) return nullptr;
  bool was = false;
  {
    const WithoutGil released;
    was = manager_in(self).cancel(request);
  }
  return PyBool_FromLong(was ? 1 : 0);
}

template <class Tell>
PyObject* tell(Tell call) {
  Status status = Done{};
  {
    const WithoutGil released;
    status = call();
  }
  return status_or_none(status);
}

PyObject* manager_pin(PyObject* self, PyObject* args) {
  const char* model = nullptr;
  int pinned = 1;
  if (PyArg_ParseTuple(args, "sp", &model, &pinned) == 0) return nullptr;
  const std::string name = model;
  return tell([&] { return manager_in(self).pin(name, pinned != 0); });
}
PyObject* manager_prefetch(PyObject* self, PyObject* args) {
  const char *model = nullptr, *device = nullptr;
  if (PyArg_ParseTuple(args, "sz", &model, &device) == 0) return nullptr;
  const std::string name = model, on = device != nullptr ? device : "";
  return tell([&] { return manager_in(self).prefetch(name, on); });
}
PyObject* manager_unload(PyObject* self, PyObject* model) {
  std::string_view text;
  if (!text_of(model, text)) return nullptr;
  const std::string name(text);
  return tell([&] { return manager_in(self).unload(name); });
}
PyObject* manager_settle(PyObject* self, PyObject*) {
  return tell([&]() -> Status {
    manager_in(self).settle();
    return Done{};
  });
}
PyObject* manager_close(PyObject* self, PyObject*) {
  return tell([&]() -> Status {
    manager_in(self).close();
    return Done{};
  });
}

PyObject* manager_ledger(PyObject* self, PyObject*) {
  const Ledger ledger = manager_in(self).ledger();
  const auto big = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  Ref devices(list_of(ledger.devices, [&](const DeviceRow& row) {
    return Py_BuildValue("{sNsKsKsKsKsKsI}", "device", to_str(row.device), "bytes", big(row.bytes),
                         "activation_bytes", big(row.activation_bytes), "foreign_bytes",
                         big(row.foreign_bytes), "budget_bytes", big(row.budget_bytes),
                         "reserved_bytes", big(row.reserved_bytes), "leases", row.leases);
  }));
  Ref models(list_of(ledger.models, [&](const LedgerRow& row) {
    return Py_BuildValue("{sNsNsNsIsKsKsKsKsIsOsKsd}", "model", to_str(row.model), "device",
                         to_str(row.device), "state", to_str(name(row.state)), "level", row.level,
                         "reserved_bytes", big(row.reserved_bytes), "host_bytes",
                         big(row.host_bytes), "declared_bytes", big(row.declared_bytes),
                         "learned_bytes", big(row.learned_bytes), "leases", row.leases, "pinned",
                         row.pinned ? Py_True : Py_False, "waiting", big(row.waiting),
                         "load_seconds", static_cast<double>(row.load_ns) / 1e9);
  }));
  if (!devices || !models) return nullptr;
  return Py_BuildValue("{sNsNsNsKsK}", "devices", devices.release(), "models", models.release(),
                       "text", to_str(to_text(ledger)), "host_bytes", big(ledger.host_bytes),
                       "host_reserved_bytes", big(ledger.host_reserved_bytes));
}

PyObject* manager_why(PyObject* self, PyObject*) {
  return list_of(manager_in(self).why(), [](const WhyEntry& row) {
    return Py_BuildValue("{sdsNsNsNsNsN}", "at_seconds", static_cast<double>(row.at_ns) / 1e9,
                         "model", to_str(row.model), "device", to_str(row.device), "what",
                         to_str(row.what), "for_model", to_str(row.for_model), "text",
                         to_str(row.text));
  });
}

PyObject* manager_stats(PyObject* self, PyObject*) {
  const BookStats s = manager_in(self).stats();
  const std::pair<const char*, std::uint64_t> counts[] = {{"requests", s.requests},
                                                          {"granted", s.granted},
                                                          {"granted_at_once", s.granted_at_once},
                                                          {"failed", s.failed},
                                                          {"cancelled", s.cancelled},
                                                          {"expired", s.expired},
                                                          {"loads", s.loads},
                                                          {"unloads", s.unloads},
                                                          {"sleeps", s.sleeps},
                                                          {"wakes", s.wakes},
                                                          {"evictions", s.evictions},
                                                          {"load_failures", s.load_failures},
                                                          {"ooms", s.ooms},
                                                          {"oom_retries", s.oom_retries},
                                                          {"aborts", s.aborts},
                                                          {"prefetches", s.prefetches},
                                                          {"waiting", s.waiting},
                                                          {"leases", s.leases}};
  Ref dict(PyDict_New());
  for (const auto& [key, value] : counts) {
    const Ref number(PyLong_FromUnsignedLongLong(value));
    if (!dict || !number || PyDict_SetItemString(dict.get(), key, number.get()) != 0)
      return nullptr;
  }
  const std::pair<const char*, std::int64_t> times[] = {{"load_seconds", s.load_ns},
                                                        {"wait_seconds", s.wait_ns},
                                                        {"max_wait_seconds", s.max_wait_ns}};
  for (const auto& [key, value] : times) {
    const Ref number(PyFloat_FromDouble(static_cast<double>(value) / 1e9));
    if (!number || PyDict_SetItemString(dict.get(), key, number.get()) != 0) return nullptr;
  }
  return dict.release();
}

PyObject* manager_transfers(PyObject* self, PyObject*) {
  return list_of(manager_in(self).transfers(), [](const TransferRow& row) {
    return Py_BuildValue(
        "{sNsNsNsOsdsNsN}", "kind", to_str(name(row.kind)), "model", to_str(row.model), "device",
        to_str(row.device), "ok", row.ok ? Py_True : Py_False, "seconds",
        static_cast<double>(row.took_ns) / 1e9, "before_bytes", bytes_or_none(row.before_bytes),
        "after_bytes", bytes_or_none(row.after_bytes));
  });
}
PyObject* manager_leaks(PyObject* self, PyObject*) {
  return list_of(manager_in(self).leaks(), [](const LeakRow& row) {
    return Py_BuildValue("{sNsNsK}", "model", to_str(row.model), "device", to_str(row.device),
                         "bytes", static_cast<unsigned long long>(row.bytes));
  });
}
PyObject* manager_reconcile(PyObject* self, PyObject* args) {
  const char* device = nullptr;
  unsigned long long free_bytes = 0;
  if (PyArg_ParseTuple(args, "sK", &device, &free_bytes) == 0) return nullptr;
  const std::string name = device;
  Result<Reconciliation> report = Reconciliation{};
  {
    const WithoutGil released;
    report = manager_in(self).reconcile(name, free_bytes);
  }
  if (!report) return raise(report.error());
  const auto big = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  return Py_BuildValue(
      "{sNsOsKsKsKsKsKsK}", "device", to_str(report->device), "applied",
      report->applied ? Py_True : Py_False, "free_bytes", big(report->free_bytes), "reserved_bytes",
      big(report->reserved_bytes), "foreign_before_bytes", big(report->foreign_before_bytes),
      "foreign_after_bytes", big(report->foreign_after_bytes), "budget_before_bytes",
      big(report->budget_before_bytes), "budget_after_bytes", big(report->budget_after_bytes));
}

void manager_dealloc(PyObject* self) {
  if (ManagerObject::full_in(self)) {
    const WithoutGil released;  // it waits for transfers, which want the GIL
    ManagerObject::of(self).reset();
  }
  ManagerObject::dealloc(self);
}

PyObject* lease_model(PyObject* self, void*) {
  const ModelLease& lease = LeaseObject::of(self);
  if (!lease) {
    PyErr_SetString(PyExc_RuntimeError, "the lease was given back; its model may be gone");
    return nullptr;
  }
  return another(object_of(lease.model())).release();
}
PyObject* lease_device(PyObject* self, void*) { return to_str(LeaseObject::of(self).device()); }
PyObject* lease_waited(PyObject* self, void*) {
  return PyFloat_FromDouble(static_cast<double>(LeaseObject::of(self).waited_ns()) / 1e9);
}
PyObject* lease_give_back(PyObject* self, PyObject*) {
  ModelLease& lease = LeaseObject::of(self);
  {
    const WithoutGil released;
    lease.release();
  }
  return none();
}
PyObject* lease_out_of_memory(PyObject* self, PyObject*) {
  bool any = false;
  {
    const WithoutGil released;
    any = LeaseObject::of(self).out_of_memory();
  }
  return PyBool_FromLong(any ? 1 : 0);
}

Method manager_methods[] = {
    reading<manager_add_device>("add_device", METH_O),
    reading<manager_add>("add", METH_O),
    reading<manager_lease>("lease", METH_VARARGS),
    reading<manager_request>("request", METH_VARARGS),
    reading<manager_cancel>("cancel", METH_O),
    reading<manager_pin>("pin", METH_VARARGS),
    reading<manager_prefetch>("prefetch", METH_VARARGS),
    reading<manager_unload>("unload", METH_O),
    reading<manager_settle>("settle", METH_NOARGS),
    reading<manager_close>("close", METH_NOARGS),
    reading<manager_ledger>("ledger", METH_NOARGS),
    reading<manager_why>("why", METH_NOARGS),
    reading<manager_stats>("stats", METH_NOARGS),
    reading<manager_transfers>("transfers", METH_NOARGS),
    reading<manager_leaks>("leaks", METH_NOARGS),
    reading<manager_reconcile>("reconcile", METH_VARARGS),
    {},
};
Slot manager_slots[] = {
    Slot::made<manager_new, ManagerObject>(),
    Slot::dealloc<manager_dealloc>(),
    Slot(manager_methods),
    {},
};
constexpr TypeSpec manager_spec = {"genscope._core.ModelManager", sizeof(ManagerObject),
                                   manager_slots};

Method lease_methods[] = {
    reading<lease_give_back>("release", METH_NOARGS),
    reading<lease_out_of_memory>("out_of_memory", METH_NOARGS),
    {},
};
Value lease_values[] = {
    value<lease_model>("model"),
    value<lease_device>("device"),
    value<lease_waited>("waited_seconds"),
    {},
};
Slot lease_slots[] = {
    Slot::dealloc<LeaseObject::dealloc>(),
    Slot(lease_methods),
    Slot(lease_values),
    {},
};
constexpr TypeSpec lease_spec = {"genscope._core.ModelLease", sizeof(LeaseObject), lease_slots,
                                 kMadeHere};

}  // namespace

bool add_optimize_models(PyObject* module) {
  g_lease_type = make_type(module, lease_spec);
  if (g_lease_type == nullptr) return false;
  PyObject* const lease = reinterpret_cast<PyObject*>(g_lease_type);
  Py_INCREF(lease);
  return PyModule_AddObject(module, "ModelLease", lease) == 0 &&
         add_type(module, manager_spec, "ModelManager");
}

}  // namespace genscope::python

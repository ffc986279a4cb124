// Generations against a target. Structured results are the JSON texts of generation_metrics.h.
#include <genscope/advise.h>
#include <genscope/generation_monitor.h>
#include <genscope/report.h>

#include <utility>

#include "monitors.h"
#include "monitors_running.h"

namespace genscope::python {
namespace {

using MonitorObject = Holder<GenerationMonitor>;

struct Load {
  std::unique_ptr<LoadScope> scope;
};
using LoadObject = Holder<Load>;
PyTypeObject* g_load = nullptr;

// Facts of a dict: numbers, flags and texts. False with an exception.
bool facts_of_dict(PyObject* dict, std::shared_ptr<const Facts>& facts) {
  if (dict == nullptr || dict == Py_None) return true;
  if (PyDict_Check(dict) == 0) {
    PyErr_SetString(PyExc_TypeError, "facts must be a dict");
    return false;
  }
  auto made = std::make_shared<Facts>();
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value) != 0;) {
    std::string_view name, text;
    if (!text_of(key, name)) return false;
    if (PyBool_Check(value)) {
      made->set(std::string(name), value == Py_True);
    } else if (PyLong_Check(value) || PyFloat_Check(value)) {
      made->set(std::string(name), PyFloat_AsDouble(value));
    } else if (PyUnicode_Check(value)) {
      if (!text_of(value, text)) return false;
      made->set(std::string(name), std::string(text));
    }
  }
  facts = std::move(made);
  return PyErr_Occurred() == nullptr;
}

const char* setting_names[] = {"model_name", "architecture_type", "num_steps", "width", "height",
                               "batch_size", "torch_dtype",       "device",    "facts", nullptr};

bool settings_of(PyObject* args, PyObject* keywords, GenerationSettings& settings) {
  const char *model = "", *architecture = "", *dtype = "", *device = "";
  unsigned long long steps = 0, width = 0, height = 0, batch = 0;
  PyObject* facts = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|$ssKKKKssO", const_cast<char**>(setting_names),
                                  &model, &architecture, &steps, &width, &height, &batch, &dtype,
                                  &device, &facts) == 0) {
    return false;
  }
  settings.model_name = model;
  settings.architecture_type = architecture;
  settings.num_steps = steps;
  settings.width = width;
  settings.height = height;
  settings.batch_size = batch;
  settings.torch_dtype = dtype;
  settings.device = device;
  return facts_of_dict(facts, settings.facts);
}

// Calls a function of Python with a warning's figures.
struct Warn {
  std::shared_ptr<PyObject> function;
  void operator()(const EarlyWarning& warning) const {
    const PyGILState_STATE state = PyGILState_Ensure();
    {
      const Ref done(PyObject_CallFunction(
          function.get(), "KKKOddd", static_cast<unsigned long long>(warning.generation),
          static_cast<unsigned long long>(warning.step),
          static_cast<unsigned long long>(warning.steps), warning.out_of_reach ? Py_True : Py_False,
          warning.elapsed_seconds, warning.projected_seconds, warning.target_seconds));
      if (!done) PyErr_WriteUnraisable(function.get());
    }
    PyGILState_Release(state);
  }
};
void drop(PyObject* object) {
  if (Py_IsInitialized() == 0) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(object);
  PyGILState_Release(state);
}

PyObject* monitor_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"low",        "high",         "model_path",
                                "history",    "step_history", "warn_from_step",
                                "gpu_memory", "on_warning",   nullptr};
  GenerationMonitorOptions options;
  const char* path = "";
  unsigned long long history = options.history, steps = options.step_history, from = 3;
  int gpu = 1;
  PyObject* warn = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|$ddsKKKpO", const_cast<char**>(names),
                                  &options.target.low_seconds, &options.target.high_seconds, &path,
                                  &history, &steps, &from, &gpu, &warn) == 0) {
    return nullptr;
  }
  options.model_path = path;
  options.history = history;
  options.step_history = steps;
  options.warn_from_step = from;
  options.gpu_memory = gpu != 0;
  if (warn != nullptr && warn != Py_None) {
    Py_INCREF(warn);
    options.on_early_warning = Warn{std::shared_ptr<PyObject>(warn, drop)};
  }
  std::optional<GenerationMonitor> made;
  {
    const WithoutGil released;
    made.emplace(std::move(options));
  }
  return MonitorObject::make(type, *made);
}

PyObject* monitor_start(PyObject* self, PyObject* args, PyObject* keywords) {
  GenerationSettings settings;
  if (!settings_of(args, keywords, settings)) return nullptr;
  const bool task = loop_is_running();
  if (task) settings.under = current();
  PyObject* const object = RunningObject::make(running_type());
  if (object == nullptr) return nullptr;
  Running& running = RunningObject::of(object);
  running.thread = std::this_thread::get_id();
  GenerationMonitor& monitor = MonitorObject::of(self);
  {
    const WithoutGil released;
    if (task) {
      running.detached = std::make_unique<Generation>(monitor.start(settings));
    } else {
      running.scoped.reset(new ScopedGeneration(monitor.monitor_generation(settings)));
    }
    running.span = running.get()->span_id();
  }
  if (task) {
    running.in_task = enter_in_task(running.span);
  } else if (running.span != 0) {
    push(running.span);
  }
  return object;
}

// load(name, setup, /) -> a scope; end() gives its seconds, end(True) forgets it.
PyObject* monitor_load(PyObject* self, PyObject* args) {
  const char* name = nullptr;
  int setup = 0;
  if (PyArg_ParseTuple(args, "sp", &name, &setup) == 0) return nullptr;
  PyObject* const object = LoadObject::make(g_load);
  if (object == nullptr) return nullptr;
  GenerationMonitor& monitor = MonitorObject::of(self);
  LoadObject::of(object).scope.reset(setup != 0 ? new LoadScope(monitor.track_pipeline_setup(name))
                                                : new LoadScope(monitor.track_model_load(name)));
  return object;
}
PyObject* load_end(PyObject* self, PyObject* args) {
  int failed = 0;
  if (PyArg_ParseTuple(args, "|p", &failed) == 0) return nullptr;
  std::unique_ptr<LoadScope> scope = std::move(LoadObject::of(self).scope);
  if (scope == nullptr) return none();
  if (failed == 0) return PyFloat_FromDouble(scope->end());
  struct Failed {};
  try {  // it fails as in C++: an exception leaves its scope
    const std::unique_ptr<LoadScope> ends = std::move(scope);
    throw Failed{};
  } catch (const Failed&) {
  }
  return none();
}

template <class Make>
PyObject* json_from(PyObject* self, Make&& make) {
  std::string json;
  {
    const WithoutGil released;
    json = make(MonitorObject::of(self));
  }
  return json.empty() ? none() : to_str(json);
}
PyObject* monitor_summary(PyObject* self, PyObject*) {
  return json_from(self, [](const GenerationMonitor& monitor) {
    return to_json(monitor.get_performance_summary());
  });
}
PyObject* monitor_metrics(PyObject* self, PyObject*) {
  return json_from(self, [](const GenerationMonitor& monitor) {
    const auto metrics = monitor.get_current_metrics();
    return metrics ? to_json(*metrics) : std::string();
  });
}
PyObject* monitor_history(PyObject* self, PyObject*) {
  std::vector<GenerationMetrics> history;
  {
    const WithoutGil released;
    history = MonitorObject::of(self).get_history();
  }
  Ref list(PyList_New(0));
  for (const GenerationMetrics& metrics : history) {
    const Ref text(to_str(to_json(metrics)));
    if (!list || !text || PyList_Append(list.get(), text.get()) != 0) return nullptr;
  }
  return list.release();
}

// The metrics in a JSON text as export_metrics_to_json() writes them.
std::optional<GenerationMetrics> parse(const char* json) {
  Result<GenerationExport> read = parse_generation_metrics(json, "metrics");
  if (!read) {
    raise(read.error());
    return std::nullopt;
  }
  if (!read->current_metrics) {
    PyErr_SetString(PyExc_ValueError, "there are no current_metrics in it");
    return std::nullopt;
  }
  return std::move(*read->current_metrics);
}
PyObject* monitor_compare(PyObject* self, PyObject* args) {
  const char* json = nullptr;
  if (PyArg_ParseTuple(args, "s", &json) == 0) return nullptr;
  const auto before = parse(json);
  if (!before) return nullptr;
  const Result<GenerationComparison> change =
      MonitorObject::of(self).get_before_after_comparison(*before);
  return change ? to_str(to_json(*change)) : raise(change.error());
}
PyObject* monitor_diagnose(PyObject* self, PyObject* args) {
  const char* json = nullptr;
  PyObject* facts = nullptr;
  if (PyArg_ParseTuple(args, "s|O", &json, &facts) == 0) return nullptr;
  auto metrics = parse(json);
  if (!metrics || !facts_of_dict(facts, metrics->facts)) return nullptr;
  return json_from(self, [&](const GenerationMonitor& monitor) {
    std::string text;
    advice_json(monitor.diagnose(*metrics), false, [&](std::string_view piece) { text += piece; });
    return text;
  });
}
PyObject* monitor_text(PyObject*, PyObject* args) {
  const char* json = nullptr;
  if (PyArg_ParseTuple(args, "s", &json) == 0) return nullptr;
  const auto metrics = parse(json);
  return metrics ? to_str(to_text(*metrics)) : nullptr;
}
PyObject* monitor_validate(PyObject* self, PyObject* args) {
  double seconds = 0;
  if (PyArg_ParseTuple(args, "d", &seconds) == 0) return nullptr;
  return PyBool_FromLong(MonitorObject::of(self).validate_performance_target(seconds) ? 1 : 0);
}

PyObject* file_of(PyObject* self, PyObject* args, bool write) {
  const char* path = nullptr;
  if (PyArg_ParseTuple(args, "s", &path) == 0) return nullptr;
  const std::string at = path;
  std::optional<Error> error;
  {
    const WithoutGil released;
    GenerationMonitor& monitor = MonitorObject::of(self);
    const Status done =
        write ? monitor.export_metrics_to_json(at) : monitor.import_metrics_from_json(at);
    if (!done) error = done.error();
  }
  return error ? raise(*error) : none();
}
PyObject* monitor_export(PyObject* self, PyObject* args) { return file_of(self, args, true); }
PyObject* monitor_import(PyObject* self, PyObject* args) { return file_of(self, args, false); }
PyObject* monitor_reset(PyObject* self, PyObject*) {
  MonitorObject::of(self).reset_metrics();
  return none();
}
PyObject* monitor_clear(PyObject* self, PyObject*) {
  MonitorObject::of(self).clear_history();
  return none();
}

PyMethodDef monitor_methods[] = {
    {"start", as_function(monitor_start), METH_VARARGS | METH_KEYWORDS, "A generation that runs."},
    {"load", monitor_load, METH_VARARGS, "load(name, setup, /)"},
    {"summary", monitor_summary, METH_NOARGS, "JSON."},
    {"metrics", monitor_metrics, METH_NOARGS, "JSON of the last generation, or None."},
    {"history", monitor_history, METH_NOARGS, "JSON texts, oldest first."},
    {"compare", monitor_compare, METH_VARARGS, "compare(before, /) -> JSON"},
    {"diagnose", monitor_diagnose, METH_VARARGS, "diagnose(metrics, facts, /) -> JSON"},
    {"text", monitor_text, METH_VARARGS, "text(metrics, /): lines for people."},
    {"validate", monitor_validate, METH_VARARGS, nullptr},
    {"export_json", monitor_export, METH_VARARGS, nullptr},
    {"import_json", monitor_import, METH_VARARGS, nullptr},
    {"reset_metrics", monitor_reset, METH_NOARGS, nullptr},
    {"clear_history", monitor_clear, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef load_methods[] = {
    {"end", load_end, METH_VARARGS, "end(failed=False, /) -> seconds"},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot monitor_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(monitor_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(MonitorObject::dealloc)},
    {Py_tp_methods, monitor_methods},
    {0, nullptr},
};
PyType_Slot load_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(LoadObject::dealloc)},
    {Py_tp_methods, load_methods},
    {0, nullptr},
};
constexpr unsigned kPlain = Py_TPFLAGS_DEFAULT;
constexpr unsigned kMadeHere = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
PyType_Spec monitor_spec = {"genscope._core.GenerationMonitor", sizeof(MonitorObject), 0, kPlain,
                            monitor_slots};
PyType_Spec load_spec = {"genscope._core.Load", sizeof(LoadObject), 0, kMadeHere, load_slots};

}  // namespace

bool add_generation_monitor(PyObject* module) {
  const auto type = [&](PyType_Spec& spec) {
    return reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  };
  PyTypeObject* const monitor = type(monitor_spec);
  g_load = type(load_spec);
  return monitor != nullptr && add_running(module) && g_load != nullptr &&
         PyModule_AddObject(module, "GenerationMonitor", reinterpret_cast<PyObject*>(monitor)) == 0;
}

}  // namespace genscope::python

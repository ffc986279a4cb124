// Generations against a target. Structured results are the JSON texts of generation_metrics.h.
#include <genscope/advise.h>
#include <genscope/monitor.h>
#include <genscope/report.h>

#include <limits>
#include <new>
#include <utility>

#include "monitors.h"
#include "monitors_running.h"

namespace genscope::python {
namespace {

using GenerationMonitorObject = Holder<GenerationMonitor>;

// A LoadScope that needs no memory but the object's.
class Load {
 public:
  Load() = default;
  ~Load() {
    if (begun_) end();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void begin(GenerationMonitor& monitor, const char* name, bool setup) {
    if (setup) {
      new (room_) LoadScope(monitor.track_pipeline_setup(name));
    } else {
      new (room_) LoadScope(monitor.track_model_load(name));
    }
    begun_ = true;
  }
  bool begun() const noexcept { return begun_; }
  double end() noexcept {
    begun_ = false;
    LoadScope& scope = *std::launder(reinterpret_cast<LoadScope*>(room_));
    const double seconds = scope.end();
    scope.~LoadScope();
    return seconds;
  }
  void fail() noexcept {
    struct Failed {};
    struct Ends {
      Load& load;
      ~Ends() { std::launder(reinterpret_cast<LoadScope*>(load.room_))->~LoadScope(); }
    };
    begun_ = false;
    try {  // it fails as in C++: an exception leaves its scope
      const Ends ends{*this};
      throw Failed{};
    } catch (const Failed&) {
    }
  }

 private:
  alignas(LoadScope) unsigned char room_[sizeof(LoadScope)];
  bool begun_ = false;
};
using LoadObject = Holder<Load>;
PyTypeObject* g_load = nullptr;
PyObject* g_no_load = nullptr;    // a Load that does nothing, and
PyObject* g_not_known = nullptr;  // what its end() gives: not a number
PyObject* give_no_load(PyObject*, PyObject* const*) noexcept {
  return another(g_no_load).release();
}
PyObject* give_not_known(PyObject*, PyObject* const*) noexcept {
  return another(g_not_known).release();
}

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

PyObject* generation_monitor_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
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
  return GenerationMonitorObject::make(type, *made);
}

PyObject* monitor_start(PyObject* self, PyObject* args, PyObject* keywords) {
  GenerationSettings settings;
  if (!settings_of(args, keywords, settings)) return nullptr;
  const bool task = loop_is_running();
  if (task) settings.under = current();
  GenerationMonitor& monitor = GenerationMonitorObject::of(self);
  Ref object(RunningObject::make(running_type()));
  if (!object) return nullptr;
  Running& running = RunningObject::of(object.get());
  running.thread = std::this_thread::get_id();
  {
    const WithoutGil released;
    if (task) {
      running.detached.reset(new Generation(monitor.start(settings)));
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
  return object.release();
}

// load(name, setup, /) -> a scope; end() gives its seconds, end(True) forgets it.
PyObject* monitor_load(PyObject* self, PyObject* args) {
  const char* name = nullptr;
  int setup = 0;
  if (PyArg_ParseTuple(args, "sp", &name, &setup) == 0) return nullptr;
  GenerationMonitor& monitor = GenerationMonitorObject::of(self);
  Ref object(LoadObject::make(g_load));
  if (object) LoadObject::of(object.get()).begin(monitor, name, setup != 0);
  return object.release();
}
PyObject* load_end(PyObject* self, PyObject* args) {
  int failed = 0;
  if (PyArg_ParseTuple(args, "|p", &failed) == 0) return nullptr;
  if (self == g_no_load) return give_not_known(self, nullptr);
  Load& load = LoadObject::of(self);
  if (!load.begun()) return none();
  if (failed == 0) return PyFloat_FromDouble(load.end());
  load.fail();
  return none();
}

template <class Make>
PyObject* json_from(PyObject* self, Make&& make) {
  std::string json;
  {
    const WithoutGil released;
    json = make(GenerationMonitorObject::of(self));
  }
  return json.empty() ? none() : to_str(json);
}
PyObject* generation_monitor_summary(PyObject* self, PyObject*) {
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
    history = GenerationMonitorObject::of(self).get_history();
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
      GenerationMonitorObject::of(self).get_before_after_comparison(*before);
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
PyObject* generation_monitor_text(PyObject*, PyObject* args) {
  const char* json = nullptr;
  if (PyArg_ParseTuple(args, "s", &json) == 0) return nullptr;
  const auto metrics = parse(json);
  return metrics ? to_str(to_text(*metrics)) : nullptr;
}
PyObject* monitor_validate(PyObject* self, PyObject* args) {
  double seconds = 0;
  if (PyArg_ParseTuple(args, "d", &seconds) == 0) return nullptr;
  return PyBool_FromLong(
      GenerationMonitorObject::of(self).validate_performance_target(seconds) ? 1 : 0);
}

PyObject* file_of(PyObject* self, PyObject* args, bool write) {
  const char* path = nullptr;
  if (PyArg_ParseTuple(args, "s", &path) == 0) return nullptr;
  const std::string at = path;
  std::optional<Error> error;
  {
    const WithoutGil released;
    GenerationMonitor& monitor = GenerationMonitorObject::of(self);
    const Status done =
        write ? monitor.export_metrics_to_json(at) : monitor.import_metrics_from_json(at);
    if (!done) error = done.error();
  }
  return error ? raise(*error) : none();
}
PyObject* monitor_export(PyObject* self, PyObject* args) { return file_of(self, args, true); }
PyObject* monitor_import(PyObject* self, PyObject* args) { return file_of(self, args, false); }
PyObject* monitor_reset(PyObject* self, PyObject*) {
  GenerationMonitorObject::of(self).reset_metrics();
  return none();
}
PyObject* generation_monitor_clear(PyObject* self, PyObject*) {
  GenerationMonitorObject::of(self).clear_history();
  return none();
}

Method generation_monitor_methods[] = {
    recording<monitor_start, Drop<give_ended, 1, 0>>("start", METH_VARARGS | METH_KEYWORDS,
                                                     "A generation that runs."),
    recording<monitor_load, Drop<give_no_load, 1, 0>>("load", METH_VARARGS, "load(name, setup, /)"),
    reading<generation_monitor_summary>("summary", METH_NOARGS, "JSON."),
    reading<monitor_metrics>("metrics", METH_NOARGS, "JSON of the last generation, or None."),
    reading<monitor_history>("history", METH_NOARGS, "JSON texts, oldest first."),
    reading<monitor_compare>("compare", METH_VARARGS, "compare(before, /) -> JSON"),
    reading<monitor_diagnose>("diagnose", METH_VARARGS, "diagnose(metrics, facts, /) -> JSON"),
    reading<generation_monitor_text>("text", METH_VARARGS, "text(metrics, /): lines for people."),
    reading<monitor_validate>("validate", METH_VARARGS),
    reading<monitor_export>("export_json", METH_VARARGS),
    reading<monitor_import>("import_json", METH_VARARGS),
    recording<monitor_reset>("reset_metrics", METH_NOARGS),
    recording<generation_monitor_clear>("clear_history", METH_NOARGS),
    {},
};
Method load_methods[] = {
    recording<load_end, Drop<give_not_known, 0, 1>>("end", METH_VARARGS,
                                                    "end(failed=False, /) -> seconds"),
    {},
};
Slot generation_monitor_slots[] = {
    Slot::made<generation_monitor_new, GenerationMonitorObject>(),
    Slot::dealloc<GenerationMonitorObject::dealloc>(),
    Slot(generation_monitor_methods),
    {},
};
Slot load_slots[] = {
    Slot::dealloc<LoadObject::dealloc>(),
    Slot(load_methods),
    {},
};
constexpr TypeSpec generation_monitor_spec = {
    "genscope._core.GenerationMonitor", sizeof(GenerationMonitorObject), generation_monitor_slots};
constexpr TypeSpec load_spec = {"genscope._core.Load", sizeof(LoadObject), load_slots, kMadeHere};

}  // namespace

bool add_generation_monitor(PyObject* module) {
  g_load = make_type(module, load_spec);
  if (g_load == nullptr) return false;
  g_no_load = LoadObject::make(g_load);
  g_not_known = PyFloat_FromDouble(std::numeric_limits<double>::quiet_NaN());
  return g_no_load != nullptr && g_not_known != nullptr && add_running(module) &&
         add_type(module, generation_monitor_spec, "GenerationMonitor");
}

}  // namespace genscope::python

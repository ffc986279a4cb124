// PerformanceValidator, for genscope.compat.validator. Results are JSON texts.
//
// A generator is a function of Python: f(prompt, image_path, model_name, resolution, num_steps,
// batch_size) -> (error or None, seconds). What a test does not say is None.
#include <genscope/compat/validator.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "calls.h"
#include "entry.h"
#include "monitors.h"

namespace genscope::python {
namespace {

using compat::BenchmarkSuite;
using compat::CallOutcome;
using compat::GenerationCall;
using compat::GeneratorFunction;
using compat::PerformanceValidator;

using ValidatorObject = Holder<std::unique_ptr<PerformanceValidator>>;
using BenchmarkObject = Holder<std::unique_ptr<compat::Benchmark>>;

PyObject* g_benchmark_type = nullptr;  // owned by the module

// Of the entry that this thread is in: an exception on its way ends the test.
thread_local const Raised* g_raised = nullptr;

PyObject* text_or_none(const std::string& text) { return text.empty() ? none() : to_str(text); }
PyObject* int_or_none(const std::optional<int>& value) {
  return value ? PyLong_FromLong(*value) : none();
}

// With the GIL.
CallOutcome call_generator(PyObject* function, const GenerationCall& call, Raised& raised) {
  const Ref resolution(call.resolution
                           ? Py_BuildValue("(ii)", call.resolution->width, call.resolution->height)
                           : none());
  const Ref args(Py_BuildValue("(NNNONN)", to_str(call.prompt), text_or_none(call.image_path),
                               text_or_none(call.model_name), resolution.get(),
                               int_or_none(call.num_steps), int_or_none(call.batch_size)));
  const Ref answer(args ? PyObject_CallObject(function, args.get()) : nullptr);
  if (!answer || PyTuple_Check(answer.get()) == 0 || PyTuple_Size(answer.get()) != 2) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_TypeError, "a generator gives a pair");
    raised.take();
    return {"it was interrupted", {}};
  }
  CallOutcome outcome{text_at(answer.get(), 0), {}};
  double seconds = 0;
  if (number_from(PyTuple_GetItem(answer.get(), 1), seconds)) outcome.seconds = seconds;
  return outcome;
}

GeneratorFunction generator_of(PyObject* function, Raised& raised) {
  return [function, &raised](const GenerationCall& call) -> CallOutcome {
    if (raised.any()) return {"it was interrupted", {}};
    const WithGil held;
    return call_generator(function, call, raised);
  };
}

PyObject* validator_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"target_improvement_factor",
                                "target_generation_time",
                                "runs_min",
                                "runs_max",
                                "budget_seconds",
                                "warmup",
                                "gpu",
                                "sampling_interval",
                                nullptr};
  compat::ValidatorOptions options;
  Py_ssize_t least = 5, most = 20, warmup = 1;
  int gpu = 1;
  if (PyArg_ParseTupleAndKeywords(
          args, keywords, "|$ddnndnpd", const_cast<char**>(names),
          &options.target_improvement_factor, &options.target_generation_time, &least, &most,
          &options.budget_seconds, &warmup, &gpu, &options.sampling_interval) == 0) {
    return nullptr;
  }
  options.runs_min = static_cast<std::size_t>(std::max<Py_ssize_t>(1, least));
  options.runs_max = static_cast<std::size_t>(std::max<Py_ssize_t>(1, most));
  options.warmup = static_cast<std::size_t>(std::max<Py_ssize_t>(0, warmup));
  options.gpu = gpu != 0;
  options.cancelled = [] { return g_raised != nullptr && g_raised->any(); };
  return ValidatorObject::make(type, std::make_unique<PerformanceValidator>(std::move(options)));
}

PerformanceValidator& of(PyObject* self) { return *ValidatorObject::of(self); }

// Strings of a sequence; false with an exception.
bool texts_of(PyObject* sequence, std::vector<std::string>& texts) {
  if (sequence == nullptr || sequence == Py_None) return true;
  const Ref list(PySequence_List(sequence));
  if (!list) return false;
  for (Py_ssize_t i = 0; i < PyList_Size(list.get()); ++i) {
    const Ref text(PyObject_Str(PyList_GetItem(list.get(), i)));
    std::string_view view;
    if (!text || !text_of(text.get(), view)) return false;
    texts.emplace_back(view);
  }
  return true;
}
bool ints_of(PyObject* sequence, std::vector<int>& numbers) {
  const Ref list(PySequence_List(sequence));
  if (!list) return false;
  numbers.clear();
  for (Py_ssize_t i = 0; i < PyList_Size(list.get()); ++i) {
    numbers.push_back(static_cast<int>(PyLong_AsLong(PyList_GetItem(list.get(), i))));
    if (PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

// Runs `work` without the GIL and gives its text, or what a call raised.
template <class Work>
PyObject* run_released(Raised& raised, Work work) {
  std::string text;
  const Raised* const around = std::exchange(g_raised, &raised);
  {
    const WithoutGil released;
    text = work();
  }
  g_raised = around;
  return raised.any() ? raised.restore() : to_str(text);
}

// end_to_end(generator, prompts, model_name, /) -> str
PyObject* validator_end_to_end(PyObject* self, PyObject* args) {
  PyObject *function = nullptr, *list = nullptr;
  const char* model = nullptr;
  std::vector<std::string> prompts;
  if (PyArg_ParseTuple(args, "OOs", &function, &list, &model) == 0 || !texts_of(list, prompts)) {
    return nullptr;
  }
  Raised raised;
  const std::string name = model;
  return run_released(raised, [&] {
    return to_json(
        of(self).run_end_to_end_performance_test(generator_of(function, raised), prompts, name));
  });
}

// gpu(generator, prompt, seconds, /) -> str
PyObject* validator_gpu(PyObject* self, PyObject* args) {
  PyObject* function = nullptr;
  const char* text = nullptr;
  double seconds = 0;
  if (PyArg_ParseTuple(args, "Osd", &function, &text, &seconds) == 0) return nullptr;
  Raised raised;
  const std::string prompt = text;
  return run_released(raised, [&] {
    return to_json(
        of(self).run_gpu_utilization_benchmark(generator_of(function, raised), prompt, seconds));
  });
}

// speed(before, after, prompt, /) -> str
PyObject* validator_speed(PyObject* self, PyObject* args) {
  PyObject *before = nullptr, *after = nullptr;
  const char* text = nullptr;
  if (PyArg_ParseTuple(args, "OOs", &before, &after, &text) == 0) return nullptr;
  Raised raised;
  const std::string prompt = text;
  return run_released(raised, [&] {
    return to_json(of(self).run_speed_improvement_validation(generator_of(before, raised),
                                                             generator_of(after, raised), prompt));
  });
}

// multimodal(generator, prompts, image_paths or None, /) -> str
PyObject* validator_multimodal(PyObject* self, PyObject* args) {
  PyObject *function = nullptr, *list = nullptr, *paths = nullptr;
  std::vector<std::string> prompts, images;
  if (PyArg_ParseTuple(args, "OOO", &function, &list, &paths) == 0 || !texts_of(list, prompts) ||
      !texts_of(paths, images)) {
    return nullptr;
  }
  Raised raised;
  return run_released(raised, [&] {
    return to_json(of(self).run_multimodal_performance_benchmark(generator_of(function, raised),
                                                                 prompts, images));
  });
}

// suite(generator, multimodal or None, name, improvement, seconds, resolutions, steps, batches,
// models, include_multimodal, multimodal_model, runs, baseline_path, /) -> str
PyObject* validator_suite(PyObject* self, PyObject* args) {
  PyObject *function = nullptr, *multimodal = nullptr, *resolutions = nullptr, *steps = nullptr,
           *batches = nullptr, *models = nullptr;
  const char *name = nullptr, *baseline = nullptr, *multimodal_model = nullptr;
  int include = 1;
  Py_ssize_t runs = 3;
  BenchmarkSuite suite;
  if (PyArg_ParseTuple(args, "OOsddOOOOpsns", &function, &multimodal, &name,
                       &suite.target_improvement_factor, &suite.target_generation_time,
                       &resolutions, &steps, &batches, &models, &include, &multimodal_model, &runs,
                       &baseline) == 0) {
    return nullptr;
  }
  suite.name = name;
  suite.baseline_path = baseline;
  suite.include_multimodal_tests = include != 0;
  suite.qwen2vl_model = multimodal_model;
  suite.runs_per_test = static_cast<std::size_t>(std::max<Py_ssize_t>(1, runs));
  const Ref sizes(PySequence_List(resolutions));
  if (!sizes || !ints_of(steps, suite.test_step_counts) ||
      !ints_of(batches, suite.test_batch_sizes) || !texts_of(models, suite.models_to_test)) {
    return nullptr;
  }
  suite.test_resolutions.clear();
  for (Py_ssize_t i = 0; i < PyList_Size(sizes.get()); ++i) {
    std::vector<int> size;
    if (!ints_of(PyList_GetItem(sizes.get(), i), size)) return nullptr;
    if (size.size() != 2) {
      PyErr_SetString(PyExc_ValueError, "a resolution is a pair: (width, height)");
      return nullptr;
    }
    suite.test_resolutions.push_back({size[0], size[1]});
  }
  Raised raised;
  const GeneratorFunction second =
      multimodal == Py_None ? GeneratorFunction{} : generator_of(multimodal, raised);
  return run_released(raised, [&] {
    PerformanceValidator& validator = of(self);
    return validator.to_json(
        validator.run_regression_test_suite(generator_of(function, raised), suite, second));
  });
}

// begin(test_name, model_name, architecture_type, num_steps, (width, height), multimodal, /)
PyObject* validator_begin(PyObject* self, PyObject* args) {
  const char *test = nullptr, *model = nullptr, *architecture = nullptr;
  int steps = 0, width = 0, height = 0, multimodal = 0;
  if (PyArg_ParseTuple(args, "sssi(ii)p", &test, &model, &architecture, &steps, &width, &height,
                       &multimodal) == 0) {
    return nullptr;
  }
  compat::BenchmarkSettings settings{test,  model,           architecture,
                                     steps, {width, height}, multimodal != 0};
  std::unique_ptr<compat::Benchmark> begun;
  {
    const WithoutGil released;
    begun = std::make_unique<compat::Benchmark>(of(self).benchmark_generation(std::move(settings)));
  }
  return BenchmarkObject::make(reinterpret_cast<PyTypeObject*>(g_benchmark_type), std::move(begun));
}

// end(error or None, /) -> str
PyObject* benchmark_end(PyObject* self, PyObject* error) {
  std::string_view why;
  if (error != Py_None && !text_of(error, why)) return nullptr;
  const std::string failed(why);
  std::string text;
  {
    const WithoutGil released;
    compat::Benchmark& benchmark = *BenchmarkObject::of(self);
    if (!failed.empty()) benchmark.fail(failed);
    text = to_json(benchmark.end());
  }
  return to_str(text);
}

PyObject* validator_set_baseline(PyObject* self, PyObject* seconds) {
  const double value = PyFloat_AsDouble(seconds);
  if (PyErr_Occurred() != nullptr) return nullptr;
  of(self).set_baseline_metrics(value);
  return none();
}
PyObject* validator_results(PyObject* self, PyObject*) {
  Ref list(PyList_New(0));
  for (const compat::BenchmarkResult& result : of(self).results()) {
    const Ref text(to_str(to_json(result)));
    if (!list || !text || PyList_Append(list.get(), text.get()) != 0) return nullptr;
  }
  return list.release();
}
PyObject* validator_summary(PyObject* self, PyObject*) {
  Raised none_raised;
  return run_released(none_raised, [&] { return of(self).get_performance_summary(); });
}
PyObject* validator_hardware(PyObject* self, PyObject*) {
  Raised none_raised;
  return run_released(none_raised, [&] { return of(self).hardware_json(); });
}
PyObject* validator_export(PyObject* self, PyObject* path) {
  std::string_view text;
  if (!text_of(path, text)) return nullptr;
  const std::string where(text);
  std::optional<Error> error;
  {
    const WithoutGil released;
    const Status written = of(self).export_benchmark_results(where);
    if (!written) error = written.error();
  }
  return error ? raise(*error) : none();
}
PyObject* validator_clear(PyObject* self, PyObject*) {
  of(self).clear_results();
  return none();
}

void benchmark_dealloc(PyObject* self) {
  if (BenchmarkObject::full_in(self)) {
    const WithoutGil released;
    BenchmarkObject::of(self).reset();
  }
  BenchmarkObject::dealloc(self);
}

Method validator_methods[] = {
    reading<validator_end_to_end>("end_to_end", METH_VARARGS,
                                  "end_to_end(f, prompts, model) -> str"),
    reading<validator_gpu>("gpu", METH_VARARGS, "gpu(f, prompt, seconds) -> str"),
    reading<validator_speed>("speed", METH_VARARGS, "speed(before, after, prompt) -> str"),
    reading<validator_multimodal>("multimodal", METH_VARARGS,
                                  "multimodal(f, prompts, images) -> str"),
    reading<validator_suite>("suite", METH_VARARGS, "suite(f, ...) -> str"),
    reading<validator_begin>("begin", METH_VARARGS, "begin(...) -> Benchmark"),
    reading<validator_set_baseline>("set_baseline", METH_O, "Seconds of a generation before."),
    reading<validator_results>("results", METH_NOARGS, "Every result, as JSON texts."),
    reading<validator_summary>("summary", METH_NOARGS, "The summary, as a JSON text."),
    reading<validator_hardware>("hardware", METH_NOARGS, "This machine, as a JSON text."),
    reading<validator_export>("export", METH_O, "Writes all results to a file."),
    reading<validator_clear>("clear", METH_NOARGS, "Forgets results and baseline."),
    {},
};
Slot validator_slots[] = {
    Slot::made<validator_new, ValidatorObject>(),
    Slot::dealloc<ValidatorObject::dealloc>(),
    Slot(validator_methods),
    {},
};
constexpr TypeSpec validator_spec = {"genscope._core.PerformanceValidator", sizeof(ValidatorObject),
                                     validator_slots};

Method benchmark_methods[] = {
    reading<benchmark_end>("end", METH_O, "end(error or None) -> str"),
    {},
};
Slot benchmark_slots[] = {
    Slot::dealloc<benchmark_dealloc>(),
    Slot(benchmark_methods),
    {},
};
constexpr TypeSpec benchmark_spec = {"genscope._core.Benchmark", sizeof(BenchmarkObject),
                                     benchmark_slots, kMadeHere};

}  // namespace

bool add_validator(PyObject* module) {
  PyTypeObject* const type = make_type(module, benchmark_spec);
  if (type == nullptr) return false;
  g_benchmark_type = reinterpret_cast<PyObject*>(type);
  Py_INCREF(g_benchmark_type);
  return PyModule_AddObject(module, "Benchmark", g_benchmark_type) == 0 &&
         add_type(module, validator_spec, "PerformanceValidator");
}

}  // namespace genscope::python

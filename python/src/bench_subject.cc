#include "bench_subject.h"

namespace genscope::python {
namespace {

class PythonSubject final : public bench::Subject {
 public:
  PythonSubject(PyObject* begin, PyObject* call, PyObject* end, Raised& raised)
      : begin_(begin), call_(call), end_(end), raised_(raised) {}

  bool starts_afresh() const override { return begin_ != Py_None; }

  std::optional<bench::Failure> begin(const bench::Params&) override {
    if (begin_ == Py_None) return std::nullopt;
    if (raised_.any()) return interrupted();
    const WithGil held;
    const Ref answer(PyObject_CallNoArgs(begin_));
    if (!answer) {
      raised_.take();
      return interrupted();
    }
    std::string_view error;
    if (PyUnicode_Check(answer.get()) == 0 || !text_of(answer.get(), error)) return std::nullopt;
    return bench::Failure{bench::FailureClass::startup_failed, std::string(error)};
  }

  void end() override {
    if (end_ == Py_None) return;
    const WithGil held;
    const Aside kept;
    const Ref done(PyObject_CallNoArgs(end_));
    if (!done) raised_.take();
  }

  bench::Sample measure(const bench::Request& request) override {
    bench::Sample sample;
    sample.iteration = request.iteration;
    sample.prompt = request.prompt;
    sample.seed = request.seed;
    if (raised_.any()) {
      sample.failure = interrupted();
      return sample;
    }
    const WithGil held;
    const Ref answer(ask(request));
    if (!answer || PyTuple_Check(answer.get()) == 0 || PyTuple_Size(answer.get()) != 5) {
      if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_TypeError, "call() gives five things");
      raised_.take();
      sample.failure = interrupted();
      return sample;
    }
    fill(answer.get(), sample);
    return sample;
  }

 private:
  static bench::Failure interrupted() {
    return {bench::FailureClass::cancelled, "it was interrupted"};
  }

  PyObject* ask(const bench::Request& request) {
    const Ref params(PyDict_New());
    for (const auto& [name, value] : request.params) {
      const Ref text(to_str(value));
      if (!params || !text || PyDict_SetItemString(params.get(), name.c_str(), text.get()) != 0)
        return nullptr;
    }
    const Ref args(Py_BuildValue("(NNnNO)", to_str(request.prompt),
                                 request.seed ? PyLong_FromLongLong(*request.seed) : none(),
                                 static_cast<Py_ssize_t>(request.iteration),
                                 PyBool_FromLong(request.warmup ? 1 : 0), params.get()));
    return args ? PyObject_CallObject(call_, args.get()) : nullptr;
  }

  static void fill(PyObject* answer, bench::Sample& sample) {
    const std::string failed = text_at(answer, 0);
    if (!failed.empty()) {
      sample.failure = bench::Failure{
          bench::failure_class(failed).value_or(bench::FailureClass::crash), text_at(answer, 1)};
      return;
    }
    double value = 0;
    if (number_from(PyTuple_GetItem(answer, 2), value)) sample.metrics["latency_s"] = value;
    PyObject* const metrics = PyTuple_GetItem(answer, 3);
    PyObject *name = nullptr, *item = nullptr;
    for (Py_ssize_t at = 0;
         PyDict_Check(metrics) != 0 && PyDict_Next(metrics, &at, &name, &item) != 0;) {
      std::string_view key;
      if (PyUnicode_Check(name) != 0 && text_of(name, key) && number_from(item, value)) {
        sample.metrics[std::string(key)] = value;
      }
    }
    PyObject* const files = PyTuple_GetItem(answer, 4);
    for (Py_ssize_t i = 0; PyList_Check(files) != 0 && i < PyList_Size(files); ++i) {
      sample.outputs.push_back(text_at(files, i));
    }
  }

  PyObject *begin_, *call_, *end_;  // borrowed of the entry's arguments
  Raised& raised_;
};

std::unique_ptr<bench::Subject> command_from(PyObject* what, bool shell, Spec& spec) {
  bench::CommandOptions options;
  if (shell) {
    options.command = text_at(what, 1);
  } else {
    const Ref words(PySequence_List(PyTuple_GetItem(what, 1)));
    if (!words) return nullptr;
    for (Py_ssize_t i = 0; i < PyList_Size(words.get()); ++i)
      options.argv.push_back(text_at(words.get(), i));
    options.shell = false;
  }
  options.prepare = spec.text("prepare");
  options.cleanup = spec.text("cleanup");
  options.cwd = spec.text("cwd");
  options.env = spec.pairs("env");
  options.timeout_s = spec.number("timeout_s");
  options.outputs = spec.texts("outputs");
  options.show_output = spec.flag("show_output", false) ? "all" : "none";
  return spec.failed() ? nullptr : bench::command_subject(std::move(options));
}

}  // namespace

std::unique_ptr<bench::Subject> subject_from(PyObject* what, Spec& spec, Raised& raised,
                                             bool& is_function) {
  const std::string kind =
      PyTuple_Check(what) != 0 && PyTuple_Size(what) >= 2 ? text_at(what, 0) : "";
  is_function = kind == "function" && PyTuple_Size(what) == 4;
  if (is_function) {
    return std::make_unique<PythonSubject>(PyTuple_GetItem(what, 1), PyTuple_GetItem(what, 2),
                                           PyTuple_GetItem(what, 3), raised);
  }
  if (kind == "command" || kind == "argv") return command_from(what, kind == "command", spec);
  PyErr_SetString(PyExc_TypeError, "a command or a function is measured");
  return nullptr;
}

}  // namespace genscope::python

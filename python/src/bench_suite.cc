// Suites for genscope.bench.run_suite.
#include <genscope/bench.h>

#include <memory>
#include <optional>
#include <string>

#include "bench_aside.h"
#include "bench_spec.h"
#include "bench_subject.h"
#include "entry.h"
#include "monitors.h"

namespace genscope::python {
namespace {

bench::SuiteOptions suite_options(Spec& spec) {
  bench::SuiteOptions options;
  options.budget_s = spec.number("budget_s");
  options.seed = spec.count("random_seed", 1);
  if (spec.has("out")) options.out = spec.text("out");
  options.resume = spec.text("resume");
  options.only = spec.text("only");
  options.strict = spec.flag("strict", false);
  return options;
}

// progress(cells_done, cells, eta_s or None)
bench::OnSuiteProgress suite_progress_to(PyObject* function, Raised& raised) {
  return [function, &raised](const bench::SuiteProgress& progress) {
    if (raised.any()) return false;
    if (function == Py_None) return true;
    const WithGil held;
    const Ref done(
        PyObject_CallFunction(function, "nnN", static_cast<Py_ssize_t>(progress.cells_done),
                              static_cast<Py_ssize_t>(progress.cells), to_float(progress.eta_s)));
    if (!done) raised.take();
    return !raised.any();
  };
}

// bench_suite(path, function or None, spec, progress or None, /) -> str
PyObject* bench_suite(PyObject*, PyObject* args) {
  const char* path = nullptr;
  PyObject *function = nullptr, *dict = nullptr, *progress = nullptr;
  if (PyArg_ParseTuple(args, "sOO!O", &path, &function, &PyDict_Type, &dict, &progress) == 0)
    return nullptr;
  Raised raised;
  Spec spec(dict);
  bench::SuiteOptions options = suite_options(spec);
  std::shared_ptr<bench::Subject> subject;
  if (function != Py_None) {
    bool is_function = false;
    subject = subject_from(function, spec, raised, is_function);
    if (subject == nullptr) return nullptr;
    options.callable = [subject](const bench::Request& request) {
      return subject->measure(request);
    };
  }
  if (spec.failed()) return nullptr;
  std::optional<Error> error;
  std::string text;
  const auto work = [&] {
    const Result<bench::SuiteRun> ran =
        bench::run_suite(path, options, suite_progress_to(progress, raised));
    if (ran) {
      text = bench::to_json(ran->result);
    } else {
      error = ran.error();
    }
  };
  if (subject != nullptr) {
    const WithoutGil released;
    work();
  } else {
    run_aside(raised, work);
  }
  if (raised.any()) return raised.restore();
  return error ? raise(*error) : to_str(text);
}

Method bench_suite_functions[] = {
    reading<bench_suite>("bench_suite", METH_VARARGS,
                         "bench_suite(path, function, spec, progress) -> str"),
    {},
};

}  // namespace

bool add_bench_suite(PyObject* module) { return add_functions(module, bench_suite_functions); }

}  // namespace genscope::python

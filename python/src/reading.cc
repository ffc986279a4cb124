// Reports, advice and comparisons of runs, as texts: the package makes objects of the JSON.
#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/compare.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include <optional>
#include <string>

#include "python.h"

namespace genscope::python {
namespace {

struct Whole {
  Run run;
  Analysis analysis;
};

// Runs without the GIL.
Result<Whole> read_whole(const std::string& path) {
  Result<Run> run = read_run(path);
  if (!run) return run.error();
  Whole whole{std::move(*run), {}};
  whole.analysis = analyze(whole.run);
  return whole;
}

// report(path, format, /) -> str; formats of `genscope report`.
PyObject* make_report(PyObject*, PyObject* args) {
  const char *path = nullptr, *format = nullptr;
  if (PyArg_ParseTuple(args, "ss", &path, &format) == 0) return nullptr;
  const std::string of = path, wanted = format;
  std::string text;
  std::optional<Error> error;
  bool known = true;
  {
    const WithoutGil released;
    const Sink sink = [&](std::string_view piece) { text += piece; };
    const Result<Whole> whole = read_whole(of);
    if (!whole) {
      error = whole.error();
    } else if (wanted == "spans_csv") {
      spans_csv(whole->run, whole->analysis, sink);
    } else if (wanted == "samples_csv") {
      samples_csv(whole->run, whole->analysis, 0, sink);
    } else if (wanted == "csv") {
      report_csv(whole->run, whole->analysis, sink);
    } else {
      const Advice advice = advise(facts_of(whole->run, whole->analysis));
      if (wanted == "json") {
        report_json(whole->run, whole->analysis, advice, sink);
      } else if (wanted == "html") {
        report_html(whole->run, whole->analysis, advice, sink);
      } else if (wanted == "md") {
        report_markdown(whole->run, whole->analysis, advice, sink);
      } else if (wanted == "text") {
        report_text(whole->run, whole->analysis, advice, {}, sink);
      } else if (wanted == "advice_json") {
        advice_json(advice, true, sink);
      } else if (wanted == "advice_text") {
        advice_text(advice, {}, sink);
      } else {
        known = false;
      }
    }
  }
  if (error) return raise(*error);
  if (!known) {
    return PyErr_Format(PyExc_ValueError, "%s is no format; there are text, json, html, md and csv",
                        format);
  }
  return to_str(text);
}

// compare(before, after, format, target_seconds or 0, noise_floor, force, /) -> str
PyObject* make_comparison(PyObject*, PyObject* args) {
  const char *first = nullptr, *second = nullptr, *format = nullptr;
  double target = 0, noise = 0;
  int force = 0;
  if (PyArg_ParseTuple(args, "sssddp", &first, &second, &format, &target, &noise, &force) == 0) {
    return nullptr;
  }
  const std::string paths[] = {first, second}, wanted = format;
  std::string text;
  std::optional<Error> error;
  {
    const WithoutGil released;
    const Sink sink = [&](std::string_view piece) { text += piece; };
    const Result<Whole> before = read_whole(paths[0]);
    const Result<Whole> after = before ? read_whole(paths[1]) : before.error();
    if (!after) {
      error = after.error();
    } else {
      CompareOptions options{.noise_floor = noise, .force = force != 0};
      if (target > 0) options.target_seconds = target;
      const Comparison comparison =
          compare(before->run, before->analysis, after->run, after->analysis, options);
      if (wanted == "html") {
        compare_html(comparison, before->run, before->analysis, after->run, after->analysis, sink);
      } else if (wanted == "md") {
        compare_markdown(comparison, sink);
      } else if (wanted == "text") {
        compare_text(comparison, {}, sink);
      } else {
        compare_json(comparison, sink);
      }
    }
  }
  return error ? raise(*error) : to_str(text);
}

PyMethodDef functions[] = {
    {"report", make_report, METH_VARARGS, "report(path, format, /) -> str"},
    {"compare", make_comparison, METH_VARARGS,
     "compare(before, after, format, target_seconds, noise_floor, force, /) -> str"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_reading(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace genscope::python

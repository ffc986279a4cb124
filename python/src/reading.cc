// Reports, advice and comparisons of runs, as texts: the package makes objects of the JSON.
#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include <optional>
#include <string>
#include <vector>

#include "entry.h"

namespace genscope::python {
namespace {

// Runs without the GIL.
Result<WholeRun> read_whole(const std::string& path) {
  Result<Run> run = read_run(path);
  if (!run) return run.error();
  return whole_of(std::move(*run));
}

// report(path, format, /) -> str, of perfetto bytes; formats of `genscope report`.
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
    const Result<WholeRun> whole = read_whole(of);
    if (!whole) {
      error = whole.error();
    } else if (wanted == "spans_csv") {
      spans_csv(whole->run, whole->analysis, sink);
    } else if (wanted == "samples_csv") {
      samples_csv(whole->run, whole->analysis, 0, sink);
    } else if (wanted == "csv") {
      report_csv(whole->run, whole->analysis, sink);
    } else if (wanted == "chrome") {
      report_chrome(whole->run, whole->analysis, sink);
    } else if (wanted == "perfetto") {
      report_perfetto(whole->run, whole->analysis, sink);
    } else {
      const Advice& advice = whole->advice;
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
    return PyErr_Format(PyExc_ValueError,
                        "%s is no format; there are text, json, html, md, csv, chrome and perfetto",
                        format);
  }
  if (wanted == "perfetto") {
    return PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  }
  return to_str(text);
}

bool take_paths(PyObject* list, std::vector<std::string>& paths) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    const char* const path = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), nullptr);
    if (path == nullptr) return false;
    paths.emplace_back(path);
  }
  return true;
}

// One run is in memory at a time, but for the two of a page's pictures.
std::optional<Error> write_comparison(const std::vector<std::string> (&sides)[2],
                                      const CompareOptions& options, const std::string& format,
                                      const Sink& sink) {
  Comparer comparer;
  RunOutlines outlines;
  const std::pair<std::size_t, std::size_t> outlined =
      outlined_runs(sides[0].size(), sides[1].size());
  for (const int side : {0, 1}) {
    for (const std::string& path : sides[side]) {
      const Result<WholeRun> one = read_whole(path);
      if (!one) return one.error();
      if (side == 0) {
        comparer.add_before(one->run, one->analysis);
      } else {
        comparer.add_after(one->run, one->analysis);
      }
      std::vector<RunOutline>& of_side = side == 0 ? outlines.before : outlines.after;
      if (format != "html" || of_side.size() >= (side == 0 ? outlined.first : outlined.second)) {
        outlines.left_out += 1;
      } else {
        of_side.push_back(outline_of(one->run, one->analysis));
      }
    }
  }
  const Comparison comparison = comparer.finish(options);
  if (format == "html") {
    const Result<WholeRun> before = read_whole(sides[0][comparison.typical_before]);
    if (!before) return before.error();
    const Result<WholeRun> after = read_whole(sides[1][comparison.typical_after]);
    if (!after) return after.error();
    compare_html(comparison, outlines, before->run, before->analysis, after->run, after->analysis,
                 sink);
  } else if (format == "md") {
    compare_markdown(comparison, sink);
  } else if (format == "text") {
    compare_text(comparison, {}, sink);
  } else {
    compare_json(comparison, sink);
  }
  return std::nullopt;
}

// compare(before, after, format, target_seconds or 0, noise_floor, force, /) -> str; lists of paths
PyObject* make_comparison(PyObject*, PyObject* args) {
  PyObject *first = nullptr, *second = nullptr;
  const char* format = nullptr;
  double target = 0, noise = 0;
  int force = 0;
  if (PyArg_ParseTuple(args, "O!O!sddp", &PyList_Type, &first, &PyList_Type, &second, &format,
                       &target, &noise, &force) == 0) {
    return nullptr;
  }
  std::vector<std::string> sides[2];
  if (!take_paths(first, sides[0]) || !take_paths(second, sides[1])) return nullptr;
  if (sides[0].empty() || sides[1].empty()) {
    return PyErr_Format(PyExc_ValueError, "no run on the %s side: give at least one",
                        sides[0].empty() ? "first" : "second");
  }
  CompareOptions options{.noise_floor = noise, .force = force != 0};
  if (target > 0) options.target_seconds = target;
  const std::string wanted = format;
  std::string text;
  std::optional<Error> error;
  {
    const WithoutGil released;
    error =
        write_comparison(sides, options, wanted, [&](std::string_view piece) { text += piece; });
  }
  return error ? raise(*error) : to_str(text);
}

Method reading_functions[] = {
    reading<make_report>("report", METH_VARARGS, "report(path, format, /) -> str"),
    reading<make_comparison>(
        "compare", METH_VARARGS,
        "compare(before, after, format, target_seconds, noise_floor, force, /) -> str"),
    {},
};

}  // namespace

bool add_reading(PyObject* module) { return add_functions(module, reading_functions); }

}  // namespace genscope::python

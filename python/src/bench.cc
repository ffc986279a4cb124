// Benchmarks for genscope.bench: measuring, judging, comparing. Results are JSON, genscope.bench/1.
#include <genscope/bench.h>
#include <genscope/version.h>

#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "bench_aside.h"
#include "bench_spec.h"
#include "bench_subject.h"
#include "entry.h"
#include "monitors.h"

namespace genscope::python {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
}

// progress(units_done, units_expected, eta_s or None); what it raises ends the measurement.
bench::OnProgress progress_to(PyObject* function, Raised& raised) {
  return [function, &raised](const bench::Progress& progress) {
    if (raised.any()) return false;
    if (function == Py_None) return true;
    const WithGil held;
    const Ref done(PyObject_CallFunction(
        function, "nnN", static_cast<Py_ssize_t>(progress.units_done),
        static_cast<Py_ssize_t>(progress.units_expected), to_float(progress.eta_s)));
    if (!done) raised.take();
    return !raised.any();
  };
}

struct Asked {
  std::unique_ptr<bench::Subject> a, b;
  bench::MeasureOptions options;
  bench::QualityOptions quality;
  bench::BenchResult result;
  bench::Params params;
  bool judge_quality = false, remember = false, strict = false, functions = false;
};

// False with an exception.
bool read_asked(PyObject* a, PyObject* b, Spec& spec, Raised& raised, Asked& asked) {
  bool first = false, second = false;
  asked.a = subject_from(a, spec, raised, first);
  if (asked.a == nullptr) return false;
  if (b != Py_None) {
    asked.b = subject_from(b, spec, raised, second);
    if (asked.b == nullptr) return false;
  }
  asked.functions = first || second;
  asked.options = measure_options(spec);
  asked.params = spec.pairs("params");
  asked.remember = spec.flag("save", false);
  asked.strict = spec.flag("strict", false);
  asked.quality.command = spec.text("quality_command");
  asked.judge_quality = spec.flag("quality", false);
  for (const std::string& rule : spec.texts("quality_rules")) {
    if (const Status added = add_quality_rule(asked.quality, rule); !added) {
      raise(added.error());
      return false;
    }
  }
  bench::BenchResult& result = asked.result;
  result.suite = spec.text("name");
  result.tool_version = GENSCOPE_VERSION_STRING;
  result.seed = asked.options.seed;
  result.labels["A"] = spec.text("label_a");
  if (asked.b != nullptr) result.labels["B"] = spec.text("label_b");
  return !spec.failed();
}

bool has_outputs(const bench::Cell& cell) {
  return !bench::outputs_of(cell, 'A').empty() || !bench::outputs_of(cell, 'B').empty();
}

void measure_asked(Asked& asked, const bench::OnProgress& progress) {
  bench::BenchResult& result = asked.result;
  result.id = bench::new_result_id(asked.b != nullptr ? "ab" : "cmd");
  result.started = utc_now();
  result.environment = bench::inspect_environment();
  std::vector<bench::Side> sides{{'A', asked.a.get(), {}}};
  if (asked.b != nullptr) sides.push_back({'B', asked.b.get(), {}});
  result.cells.push_back(bench::measure("default", asked.params, sides, asked.options, progress));
  if (asked.b != nullptr) {
    if (!asked.options.judge.noise) {
      asked.options.judge.noise = bench::noise_floor_of(result.environment.klass,
                                                        bench::noise_key(result, result.cells[0]));
    }
    asked.options.judge.paired = asked.options.order != bench::Order::blocks;
    asked.options.judge.interleaved = asked.options.judge.paired;
    result.comparisons = bench::compare_sides(result, asked.options.judge);
    if (asked.judge_quality && has_outputs(result.cells[0]))
      result.quality = bench::compare_outputs(result.cells, asked.quality);
  }
  result.ended = utc_now();
  result.exit = bench::decide_exit(result, asked.strict);
}

// bench_measure(a, b or None, spec, progress or None, /) -> str
PyObject* bench_measure(PyObject*, PyObject* args) {
  PyObject *a = nullptr, *b = nullptr, *dict = nullptr, *progress = nullptr;
  if (PyArg_ParseTuple(args, "OOO!O", &a, &b, &PyDict_Type, &dict, &progress) == 0) return nullptr;
  Raised raised;
  Asked asked;
  Spec spec(dict);
  if (!read_asked(a, b, spec, raised, asked)) return nullptr;
  const auto work = [&] { measure_asked(asked, progress_to(progress, raised)); };
  if (asked.functions) {
    const WithoutGil released;
    work();
  } else {
    run_aside(raised, work);
  }
  if (raised.any()) return raised.restore();
  std::string text;
  std::optional<Error> error;
  {
    const WithoutGil released;
    text = bench::to_json(asked.result);
    if (asked.remember) {
      const Status kept = bench::remember(asked.result);
      if (!kept) error = kept.error();
    }
    asked.a.reset();
    asked.b.reset();
  }
  return error ? raise(*error) : to_str(text);
}

// bench_compare(base, new, spec, /) -> str: the new result with its comparisons.
PyObject* bench_compare(PyObject*, PyObject* args) {
  const char *base = nullptr, *now = nullptr;
  PyObject* dict = nullptr;
  if (PyArg_ParseTuple(args, "ssO!", &base, &now, &PyDict_Type, &dict) == 0) return nullptr;
  Spec spec(dict);
  const JudgeOptions options = judge_options(spec);
  const bool strict = spec.flag("strict", false);
  if (spec.failed()) return nullptr;
  const std::string names[] = {base, now};
  std::string text;
  std::optional<Error> error;
  {
    const WithoutGil released;
    const Result<bench::BenchResult> before = bench::find_result(names[0]);
    Result<bench::BenchResult> after = before ? bench::find_result(names[1]) : before.error();
    if (!after) {
      error = after.error();
    } else {
      after->comparisons = bench::compare_results(*before, *after, options);
      after->exit = bench::decide_exit(*after, strict);
      text = bench::to_json(*after);
    }
  }
  return error ? raise(*error) : to_str(text);
}

// bench_render(json, format, /) -> str; text, md, html, csv, junit.
PyObject* bench_render(PyObject*, PyObject* args) {
  PyObject* json = nullptr;
  const char* format = nullptr;
  std::string_view view;
  if (PyArg_ParseTuple(args, "Us", &json, &format) == 0 || !text_of(json, view)) return nullptr;
  const std::string wanted = format, source(view);
  std::string text;
  std::optional<Error> error;
  {
    const WithoutGil released;
    const Result<bench::BenchResult> result = bench::from_json(source, "result");
    const Sink sink = [&](std::string_view piece) { text += piece; };
    if (!result) {
      error = result.error();
    } else if (wanted == "text") {
      bench::result_text(*result, {}, sink);
    } else if (wanted == "md") {
      bench::result_markdown(*result, sink);
    } else if (wanted == "html") {
      bench::result_html(*result, sink);
    } else if (wanted == "csv") {
      bench::result_csv(*result, sink);
    } else if (wanted == "junit") {
      bench::result_junit(*result, sink);
    } else {
      error = Error{ErrorCode::invalid_argument,
                    wanted + " is no format; there are text, md, html, csv and junit"};
    }
  }
  return error ? raise(*error) : to_str(text);
}

PyObject* ends_of(const std::optional<stats::Interval>& interval) {
  return interval ? Py_BuildValue("[dd]", interval->low, interval->high) : none();
}
PyObject* text_list(const std::vector<std::string>& texts) {
  Ref list(PyList_New(0));
  for (const std::string& text : texts) {
    const Ref item(to_str(text));
    if (!list || !item || PyList_Append(list.get(), item.get()) != 0) return nullptr;
  }
  return list.release();
}

// bench_judge(before, after, spec, /) -> dict
PyObject* bench_judge(PyObject*, PyObject* args) {
  PyObject* dict = nullptr;
  if (PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict) == 0) return nullptr;
  Spec spec(dict);
  const std::vector<double> before = spec.numbers("before"), after = spec.numbers("after");
  const JudgeOptions options = judge_options(spec);
  if (spec.failed()) return nullptr;
  Judgement j;
  {
    const WithoutGil released;
    j = judge(before, after, options);
  }
  Ref out(PyDict_New());
  const bool whole =
      out && put(out.get(), "verdict", to_str(name(j.verdict))) &&
      put(out.get(), "reason", to_str(j.reason)) && put(out.get(), "notes", text_list(j.notes)) &&
      put(out.get(), "method", to_str(name(j.method))) &&
      put(out.get(), "ratio", to_float(j.ratio)) && put(out.get(), "ci", ends_of(j.interval)) &&
      put(out.get(), "level", j.interval ? PyFloat_FromDouble(j.interval->confidence) : none()) &&
      put(out.get(), "before", to_float(j.before)) && put(out.get(), "after", to_float(j.after)) &&
      put(out.get(), "before_n", PyLong_FromSize_t(j.before_n)) &&
      put(out.get(), "after_n", PyLong_FromSize_t(j.after_n)) &&
      put(out.get(), "pairs", PyLong_FromSize_t(j.pairs)) &&
      put(out.get(), "delta", PyFloat_FromDouble(j.floor)) &&
      put(out.get(), "delta_source", to_str(name(j.floor_source))) &&
      put(out.get(), "mde", to_float(j.mde)) && put(out.get(), "p", to_float(j.p_value)) &&
      put(out.get(), "runs_needed",
          j.runs_needed ? PyLong_FromUnsignedLongLong(*j.runs_needed) : none());
  return whole ? out.release() : nullptr;
}

Method bench_functions[] = {
    reading<bench_measure>("bench_measure", METH_VARARGS,
                           "bench_measure(a, b, spec, progress) -> str"),
    reading<bench_compare>("bench_compare", METH_VARARGS, "bench_compare(base, new, spec) -> str"),
    reading<bench_render>("bench_render", METH_VARARGS, "bench_render(json, format) -> str"),
    reading<bench_judge>("bench_judge", METH_VARARGS, "bench_judge(spec) -> dict"),
    {},
};

}  // namespace

bool add_bench(PyObject* module) { return add_functions(module, bench_functions); }

}  // namespace genscope::python

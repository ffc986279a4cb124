#include "bench_spec.h"

#include <cmath>

namespace genscope::python {

PyObject* Spec::get(const char* key) {
  if (failed_) return nullptr;
  PyObject* const found = PyDict_GetItemString(dict_, key);
  return found == Py_None ? nullptr : found;
}

void Spec::wrong(const char* key, const char* what) {
  failed_ = true;
  PyErr_Format(PyExc_TypeError, "%s must be %s", key, what);
}

std::string Spec::text(const char* key) {
  PyObject* const found = get(key);
  std::string_view view;
  if (found == nullptr) return {};
  if (PyUnicode_Check(found) == 0 || !text_of(found, view)) {
    wrong(key, "a str");
    return {};
  }
  return std::string(view);
}

std::vector<std::string> Spec::texts(const char* key) {
  std::vector<std::string> all;
  PyObject* const found = get(key);
  if (found == nullptr) return all;
  const Ref list(PyUnicode_Check(found) != 0 ? nullptr : PySequence_List(found));
  if (!list) {
    wrong(key, "a list of str");
    return all;
  }
  for (Py_ssize_t i = 0; i < PyList_Size(list.get()); ++i) {
    std::string_view view;
    PyObject* const item = PyList_GetItem(list.get(), i);
    if (PyUnicode_Check(item) == 0 || !text_of(item, view)) {
      wrong(key, "a list of str");
      return {};
    }
    all.emplace_back(view);
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> Spec::pairs(const char* key) {
  std::vector<std::pair<std::string, std::string>> all;
  PyObject* const found = get(key);
  if (found == nullptr) return all;
  if (PyDict_Check(found) == 0) {
    wrong(key, "a dict");
    return all;
  }
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(found, &at, &name, &value) != 0;) {
    const Ref first(PyObject_Str(name)), second(PyObject_Str(value));
    std::string_view a, b;
    if (!first || !second || !text_of(first.get(), a) || !text_of(second.get(), b)) {
      failed_ = true;
      return {};
    }
    all.emplace_back(a, b);
  }
  return all;
}

std::vector<double> Spec::numbers(const char* key) {
  std::vector<double> all;
  PyObject* const found = get(key);
  if (found == nullptr) return all;
  const Ref list(PySequence_List(found));
  for (Py_ssize_t i = 0; list && i < PyList_Size(list.get()); ++i) {
    all.push_back(PyFloat_AsDouble(PyList_GetItem(list.get(), i)));
    if (PyErr_Occurred() != nullptr) break;
  }
  if (!list || PyErr_Occurred() != nullptr) wrong(key, "a list of numbers");
  return all;
}

std::optional<double> Spec::number(const char* key) {
  PyObject* const found = get(key);
  if (found == nullptr) return std::nullopt;
  const double value = PyFloat_AsDouble(found);
  if (PyErr_Occurred() != nullptr || !std::isfinite(value)) {
    wrong(key, "a number");
    return std::nullopt;
  }
  return value;
}

std::size_t Spec::count(const char* key, std::size_t fallback) {
  PyObject* const found = get(key);
  if (found == nullptr) return fallback;
  const Py_ssize_t value = PyLong_Check(found) != 0 ? PyLong_AsSsize_t(found) : -1;
  if (value < 0) {
    wrong(key, "a whole number, 0 or more");
    return fallback;
  }
  return static_cast<std::size_t>(value);
}

bool Spec::flag(const char* key, bool fallback) {
  PyObject* const found = get(key);
  return found == nullptr ? fallback : PyObject_IsTrue(found) == 1;
}

JudgeOptions judge_options(Spec& spec) {
  JudgeOptions options;
  options.min_effect = spec.number("min_effect").value_or(options.min_effect);
  options.noise = spec.number("noise");
  options.abs_floor = spec.number("abs_floor");
  options.confidence = spec.number("confidence").value_or(options.confidence);
  options.paired = spec.flag("paired", false);
  options.interleaved = spec.flag("interleaved", options.paired);
  options.few_by_student = spec.flag("few_by_student", false);
  if (spec.text("direction") == "higher") options.direction = Direction::higher_is_better;
  return options;
}

bench::MeasureOptions measure_options(Spec& spec) {
  bench::MeasureOptions options;
  options.units_min = spec.count("units_min", options.units_min);
  options.units_max = spec.count("units_max", options.units_max);
  options.iterations_min = spec.count("iterations_min", options.iterations_min);
  options.iterations_max = spec.count("iterations_max", options.iterations_max);
  options.warmup_max = spec.count("warmup_max", options.warmup_max);
  options.seed = spec.count("random_seed", 1);
  options.budget_s = spec.number("budget_s");
  options.half_width = spec.number("half_width");
  options.timeout_s = spec.number("timeout_s");
  options.prompts = spec.texts("prompts");
  for (const double seed : spec.numbers("seeds")) {
    options.seeds.push_back(static_cast<std::int64_t>(seed));
  }
  const std::string order = spec.text("order");
  for (const auto known :
       {bench::Order::abba, bench::Order::latin, bench::Order::random, bench::Order::blocks}) {
    if (order == name(known)) options.order = known;
  }
  options.judge = judge_options(spec);
  return options;
}

}  // namespace genscope::python

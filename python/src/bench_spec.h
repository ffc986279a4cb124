// What the package asks of a benchmark: a dict, read field by field.
#pragma once

#include <genscope/bench.h>

#include <string>
#include <utility>
#include <vector>

#include "python.h"

namespace genscope::python {

// Keys that are missing, or None, leave the fallback. A value of another type is a TypeError that
// names the key; failed() is then true, and what is read later means nothing.
class Spec {
 public:
  explicit Spec(PyObject* dict) noexcept : dict_(dict) {}
  bool failed() const noexcept { return failed_; }
  std::string text(const char* key);
  std::vector<std::string> texts(const char* key);
  std::vector<std::pair<std::string, std::string>> pairs(const char* key);  // of a dict
  std::vector<double> numbers(const char* key);
  std::optional<double> number(const char* key);
  std::size_t count(const char* key, std::size_t fallback);
  bool flag(const char* key, bool fallback);
  bool has(const char* key) { return get(key) != nullptr; }

 private:
  PyObject* get(const char* key);  // borrowed; null if it is missing or None
  void wrong(const char* key, const char* what);

  PyObject* dict_;
  bool failed_ = false;
};

bench::MeasureOptions measure_options(Spec& spec);
JudgeOptions judge_options(Spec& spec);

}  // namespace genscope::python

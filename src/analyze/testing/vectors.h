// Numeric test vectors with known answers: tests/data/vectors/*.json, or the files of the folder
// that GENSCOPE_VECTORS names.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace genscope::testing {

// Nested objects are flattened: {"out": {"q_type7": {"p05": 1}}} is number("out.q_type7.p05").
struct VectorCase {
  std::string id;
  std::string function;  // "fn" of the case, if it has one
  std::map<std::string, double> numbers;
  std::map<std::string, std::vector<double>> lists;

  bool has(const std::string& path) const { return numbers.contains(path); }
  // What is not there fails the test; the value is then NaN or empty.
  double number(const std::string& path) const;
  const std::vector<double>& list(const std::string& path) const;
};

struct VectorFile {
  double relative = 0, absolute = 0;  // the file's tolerance: either is enough
  std::vector<VectorCase> cases;

  // Within the tolerance of what the case says at `path`.
  ::testing::AssertionResult agrees(const VectorCase& c, const std::string& path, double got) const;
};

// `family` is the file's name without ".json". A file that cannot be read fails the test.
VectorFile load_vectors(const std::string& family);

}  // namespace genscope::testing

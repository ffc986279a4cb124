// Numeric test vectors with known answers: tests/data/vectors/*.json, or the files of the folder
// that GENSCOPE_VECTORS names.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace genscope::testing {

// Nested objects are flattened: {"out": {"q_type7": {"p05": 1}}} is number("out.q_type7.p05").
struct VectorCase {
  std::string id;
  std::string function;  // "fn" of the case, if it has one
  std::map<std::string, double> numbers;
  std::map<std::string, bool> flags;
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<double>> lists;
  std::map<std::string, std::vector<std::string>> text_lists;
  std::map<std::string, std::vector<std::vector<double>>> tables;  // lists of lists
  std::map<std::string, std::vector<VectorCase>> rows;             // lists of objects; no prefix
  double relative = 0, absolute = 0;  // the tolerance, of the case or of its file: either is enough

  bool has(const std::string& path) const;
  // What is not there fails the test; the value is then NaN or empty.
  double number(const std::string& path) const;
  bool flag(const std::string& path) const;
  const std::string& text(const std::string& path) const;
  const std::vector<double>& list(const std::string& path) const;
  const std::vector<std::vector<double>>& table(const std::string& path) const;
  // Without empty lists, which are of every kind: those have no rows.
  const std::vector<VectorCase>& row_list(const std::string& path) const;

  // Within the tolerance of what the case says at `path`: a number, or a list of the same size.
  ::testing::AssertionResult agrees(const std::string& path, double got) const;
  ::testing::AssertionResult agrees(const std::string& path, const std::vector<double>& got) const;

  // Of "out", what no call above has asked for: a figure that nothing computes.
  mutable std::set<std::string> unread;
  void expect_all_read() const;
};

struct VectorFile {
  double relative = 0, absolute = 0;
  std::vector<VectorCase> cases;
  // Every figure of every case was asked for, and there are cases.
  void expect_all_read() const;
};

// `family` is the file's name without ".json". A file that cannot be read fails the test.
VectorFile load_vectors(const std::string& family);

}  // namespace genscope::testing

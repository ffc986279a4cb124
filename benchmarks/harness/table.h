// What every benchmark prints: a table for people, and JSON rows for machines (--json FILE).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Row {
  std::string name;
  double value = 0;
  std::string unit;
  std::string ratio_to;  // what `ratio` is relative to; empty: no ratio
  double ratio = 0;
  std::string bar;   // what we promise, as text; empty: no promise
  bool kept = true;  // whether this run kept the promise
  std::string note;
};

class Table {
 public:
  // Prints the row at once: benchmarks are long.
  void add(const Row& row);
  // Writes the JSON file if one was asked for. Returns the number of broken promises.
  int finish(const std::string& json_path) const;

 private:
  std::vector<Row> rows_;
};

struct Options {
  std::string json;
  std::string only;    // run the rows whose name contains this
  bool quick = false;  // a tenth of the work, for tests of the benchmark itself
  std::vector<std::string> rest;
};
Options parse(int argc, char** argv);

}  // namespace bench

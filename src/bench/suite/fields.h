// What conditions over the matrix may name: each axis, and of a size like 1024x1024 also .w, .h,
// .pixels and, where all its values have them, .frames.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/expression.h"
#include "bench/suite/suite.h"

namespace genscope::bench {

class MatrixFields {
 public:
  // An axis is of numbers, flags or sizes if all its values are, those of `include` too; else of
  // texts.
  explicit MatrixFields(const SuiteMatrix& matrix);

  // Refers to this object.
  advice::Names names() const;
  std::vector<std::string> all() const;
  bool is_number(std::string_view field) const;
  Facts facts(const Params& params) const;
  std::optional<double> number(const Params& params, std::string_view field) const;

 private:
  std::map<std::string, advice::FactType, std::less<>> types_;
};

// The cell's name: "batch=4,size=512x512,steps=10". Values that do not fit into a file's name are
// reduced, and a checksum keeps the cells apart. "all" without parameters.
std::string cell_id(const Params& params);

}  // namespace genscope::bench

// Figures by name over ranks: exact up to kExactRanks values, a histogram beyond.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/analyze.h>

#include "analyze/statistics/statistics.h"

namespace genscope::analysis {

class AcrossTable {
 public:
  // Names beyond `max_names` are counted and left out: a name may be made of anything.
  explicit AcrossTable(std::size_t max_names) : max_names_(max_names) {}

  // `rank` is the place of the rank; a value that is not finite is left out.
  void add(std::string_view name, std::uint32_t rank, double value);

  std::uint64_t left_out() const noexcept { return left_out_; }  // values of names beyond the limit

  // In the order of names. `counts` tells whether a rank counts (beyond kExactRanks all do),
  // `label` what it is called.
  std::vector<AcrossRanks> rows(const std::function<bool(std::uint32_t)>& counts,
                                const std::function<std::string(std::uint32_t)>& label) const;

 private:
  struct Value {
    double value = 0;
    std::uint32_t rank = 0;
  };
  struct Column {
    std::vector<Value> values;  // empty once there are too many
    stats::Histogram many;
    Value min, max;  // of the many
  };
  static AcrossRanks exact(const Column& column, const std::function<bool(std::uint32_t)>& counts,
                           const std::function<std::string(std::uint32_t)>& label);

  std::size_t max_names_;
  std::uint64_t left_out_ = 0;
  std::map<std::string, Column, std::less<>> columns_;
};

}  // namespace genscope::analysis

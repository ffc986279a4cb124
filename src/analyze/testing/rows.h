// Rows of an Analysis by name, for *_test.cc only.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include <genscope/analyze.h>

namespace genscope::testing {

inline const StageRow& row(const Analysis& analysis, std::string_view name) {
  for (const StageRow& r : analysis.stages) {
    if (r.name == name) return r;
  }
  ADD_FAILURE() << "no row " << name;
  static const StageRow kMissing;
  return kMissing;
}

}  // namespace genscope::testing

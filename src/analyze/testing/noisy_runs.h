// Values of simulated runs. For *_test.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "testing/random.h"

namespace genscope::testing {

inline double bell(Random& random) {  // sigma 1, near enough to normal
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.below(1u << 20)) / (1u << 20);
  return sum;
}

inline std::vector<double> noisy_runs(Random& random, std::size_t n, double level,
                                      double cv = 0.01) {
  std::vector<double> values(n);
  for (double& v : values) v = level * (1 + cv * bell(random));
  return values;
}

}  // namespace genscope::testing

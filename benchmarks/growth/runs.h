// Runs that have much of one thing, for bench_growth.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <genscope/trace.h>

namespace bench {

struct Grown {
  const char* what;                          // "spans"
  std::size_t least;                         // how many the smaller run has
  genscope::Run (*make)(std::size_t count);  // a run with that many, and little else
};

// Every dimension in which a run of a user may be large.
const std::vector<Grown>& dimensions();

}  // namespace bench

// A load run for people: the verdict in a sentence, then the figures.
#pragma once

#include <string>

#include "bench/http/load.h"

namespace genscope::bench {

struct LoadTextOptions {
  int width = 100;
  bool color = false;
};
// `run` tells how the load was made; figures are the summary's.
std::string load_text(const LoadRun& run, const LoadResultSummary& summary,
                      const LoadTextOptions& options);
std::string peak_text(const Peak& peak, const Slo& slo, const LoadTextOptions& options);
// "gamma arrivals (cv 2)", "closed loop, 4 users".
std::string arrival_words(Arrivals arrivals, double cv, std::size_t users,
                          std::size_t samples_per_query);
// "12.5/s", with three digits.
std::string rate_text(double per_s);

}  // namespace genscope::bench

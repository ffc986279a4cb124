// A history for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/history/series.h"

namespace genscope::bench {

struct ShownSeries {
  Series series;
  HistoryAnalysis analysis;
  std::optional<double> limit;
};

struct HistoryTextOptions {
  std::size_t width = 100;
  bool color = false, unicode = true;
  std::size_t rows = 20;  // newest results in the table; 0: all
};

// One character for each of the newest `width` values, from the lowest to the highest.
std::string sparkline(const std::vector<double>& values, std::size_t width, bool unicode);

// What is to be said about it: levels, trend, target, the newest, what was left out.
std::vector<std::string> history_sentences(const ShownSeries& shown);

std::string history_text(const ShownSeries& shown, const HistoryTextOptions& options);
std::string history_markdown(const ShownSeries& shown, std::size_t rows);
// genscope.history/1: an object with a list of series.
std::string history_json(const std::vector<ShownSeries>& all);

std::string baselines_text(const Decisions& decisions, std::size_t width, bool color);
std::string baselines_json(const Decisions& decisions);

}  // namespace genscope::bench

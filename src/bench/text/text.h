// Commands that were measured, for people at a terminal: one sentence, then the figures. Suites
// have result_text() (genscope/bench.h).
#pragma once

#include <string>

#include <genscope/bench.h>

namespace genscope::bench {

struct TextOptions {
  std::size_t width = 100;
  bool color = false;
};

// The comparison of that cell and metric, or null.
const Comparison* find_comparison(const BenchResult& result, const std::string& cell,
                                  std::string_view metric);

// "B is 12.4 % faster (95 %: 10.1 to 14.6), 8 pairs; peak memory same; images same (40 of 40 bytes
// equal)."
std::string change_headline(const BenchResult& result, const Cell& cell);
// "It takes 1.23 s (95 %: 1.21 to 1.26), 12 runs."
std::string cell_headline(const Cell& cell, const std::string& subject);

// Rows: the metrics of a cell; of both sides, with change and verdict, if it has two.
std::string metric_table(const BenchResult& result, const Cell& cell, const TextOptions& options);
// Where the difference comes from, by stage.
std::string stage_table(const Attribution& attribution, const TextOptions& options);

// All of it, cell by cell.
std::string commands_text(const BenchResult& result, const TextOptions& options);

}  // namespace genscope::bench

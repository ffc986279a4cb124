// Which rows of a long table a person sees, and what is said of the others.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include <genscope/analyze.h>

#include "report/format.h"

namespace genscope::report {

// The first `most` rows, and those that stand for many names: sums must add up.
template <class Row>
std::vector<std::size_t> shown_rows(const std::vector<Row>& rows, std::size_t most) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i < most || rows[i].folded > 0) shown.push_back(i);
  }
  return shown;
}

// A line for below the table, or "".
template <class Row>
std::string left_out_text(const std::vector<Row>& rows, std::size_t shown) {
  std::uint64_t folded = 0;
  for (const Row& row : rows) folded += row.folded;
  std::string text;
  if (rows.size() > shown) {
    text = fmt::format("... and {} more; -f json has {}", count(rows.size() - shown),
                       folded > 0 ? "them" : "all");
  }
  if (folded > 0) {
    text +=
        fmt::format("{}\"{}\" sums up {} names", text.empty() ? "" : "; ", kOthers, count(folded));
  }
  return text;
}

}  // namespace genscope::report

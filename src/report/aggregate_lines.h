// What the text and the Markdown of an Aggregate share: the same tables and sentences, printable.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <genscope/analyze.h>

#include "report/table.h"

namespace genscope::report {

// "2 ranks of 1 run, world size 4".
std::string aggregate_title(const Aggregate& aggregate);

// What is missing, failed, unread, double, and what else must be known: {"missing", "rank 2"}. At
// most `limit` of one sort, the rest counted.
std::vector<std::pair<std::string, std::string>> aggregate_problems(const Aggregate& aggregate,
                                                                    std::size_t limit);

// Who holds the others up, or why nobody is named: {"culprit", "rank 1 waits ..."}.
std::vector<std::pair<std::string, std::string>> straggler_lines(const Aggregate& aggregate,
                                                                 std::size_t limit);

// One line for those of one boot and for those of unknown error each, then the worst of the rest.
std::vector<std::string> clock_lines(const Aggregate& aggregate, std::size_t limit);

// Each with a last row that counts what is beyond the limit.
Table stage_rows(const Aggregate& aggregate, std::size_t limit);
Table figure_rows(const Aggregate& aggregate);
Table rank_rows(const Aggregate& aggregate, std::size_t limit);

// How medians were made, if not exactly; else empty.
std::string median_method(const Aggregate& aggregate);

}  // namespace genscope::report

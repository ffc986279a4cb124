// Who holds the others up. Where ranks meet, wall times are equal whoever is slow: the slow one is
// told by how little it waits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <genscope/analyze.h>

namespace genscope::analysis {

inline constexpr std::size_t kMaxStragglers = 32;  // of one role

// Of ranks that ran together. Compared are ranks with about as many collectives as the median rank:
// who was killed early, or takes part in other groups, waited less for another reason; how many
// were left aside is added to `aside`. Thresholds are those of Straggler. Nobody is an answer.
std::vector<Straggler> find_stragglers(std::span<const RankFigures* const> ranks,
                                       std::uint64_t& aside);

// Ranks of one job: places in `ranks`. Together are those that ran at the same time, those of one
// run, and, as clocks of hosts may be far apart, those that say the same world size and have no
// rank in common. Ranks of which no time is known count as of one time.
std::vector<std::vector<std::size_t>> jobs_of(std::span<const RankFigures* const> ranks);

}  // namespace genscope::analysis

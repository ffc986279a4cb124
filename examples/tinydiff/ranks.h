// Ranks: several processes that do the same work and meet after each step, as data-parallel
// training and sequence-parallel inference do.
#pragma once

#include <functional>

namespace tinydiff {

// Waits for the other ranks; a span "all_reduce". Nothing without ranks.
void meet();

// Runs `body` in `count` processes with RANK and WORLD_SIZE set, and returns the worst exit code.
// Call it before any thread is started.
int run_ranks(int count, const std::function<int()>& body);

}  // namespace tinydiff

// A/A: a thing against itself, to learn what this machine can tell apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <genscope/bench.h>

namespace genscope::bench {

struct Selfcheck {
  std::size_t pairs = 0;
  std::optional<double> resolves;   // the smallest effect that so many pairs would show
  std::optional<double> floor;      // noise_floor(): 95 % of the pairs differ by less
  Judgement judgement;              // of A against itself
  bool for_machine = false;         // of the built-in program, and fit to speak for any command
  std::vector<std::string> doubts;  // in sentences
};
// Of the one cell of a result of `bench selfcheck`.
Selfcheck judge_selfcheck(const BenchResult& result);

// "This machine resolves 1.4 % in 12 runs." and what it rests on.
std::string selfcheck_text(const BenchResult& result, const Selfcheck& found, std::size_t width);
std::string selfcheck_json(const BenchResult& result, const Selfcheck& found);

// The built-in program: the same work at each call, some 50 ms, in the cache and beyond it. Its
// value is there so that no compiler leaves it out.
std::uint64_t fixed_work(std::uint64_t rounds);
inline constexpr std::uint64_t kFixedRounds = 40;

}  // namespace genscope::bench

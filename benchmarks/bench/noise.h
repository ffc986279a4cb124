// Simulated runs of two builds on machines that are noisy in the ways real ones are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

// All parts add up in logarithms. What a part does not name is absent.
struct Noise {
  double run = 0.015;  // deviation of independent runs
  double drift = 0;    // from the first to the last slot, in a straight line
  double wander = 0;   // deviation of a process in which 0.9 of each slot carries over to the next
  double stall_chance = 0;  // of a run, of taking exp(0.1) to exp(0.3) times as long
};

struct Session {
  std::vector<double> before, after;  // in the order of time: before[i] and after[i] are a pair
};

// splitmix64 and Box-Muller: the same numbers in every run and on every machine.
class Simulator {
 public:
  explicit Simulator(std::uint64_t seed) noexcept : state_(seed) {}
  double uniform() noexcept;  // [0, 1)
  double normal() noexcept;
  // `runs` of each side, in blocks (all before, then all after) or in turns (ABBA).
  Session session(const Noise& noise, std::size_t runs, bool in_turns, double effect);

 private:
  std::uint64_t state_;
  double kept_ = 0;
  bool has_kept_ = false;
};

}  // namespace bench

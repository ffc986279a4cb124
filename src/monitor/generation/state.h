// One generation that runs: all that its steps touch. Used by one thread at a time; kept and used
// again by the hub, so that a steady stream of generations allocates nothing for its steps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <genscope/monitor.h>
#include <genscope/record.h>

#include "monitor/generation/host_memory.h"
#include "monitor/generation/pace.h"
#include "monitor/generation/ticks.h"

namespace genscope::monitor {

struct GenerationState {
  explicit GenerationState(const Ticks& source) : ticks(source) {}

  Ticks ticks;
  std::int64_t begin = 0;
  std::int64_t step_begin = 0;
  std::uint64_t step_span = 0;  // id of the open step's span; 0: not recorded
  bool step_open = false;
  bool scoped = false;  // its spans are scopes of one thread
  Handle span;

  // --- steps so far, in ticks
  std::vector<std::int64_t> steps;  // the last step_limit, a ring once it is full
  std::size_t step_limit = 0;
  std::size_t next_step = 0;  // place of the next one in `steps`
  std::uint64_t steps_done = 0;
  std::int64_t step_sum = 0, step_max = 0, first_step = 0;
  std::int64_t first_step_begin = 0, last_step_end = 0;

  // --- early warning
  Pace pace;
  double target = 0;            // ticks
  double tail = 0;              // ticks that the last generation took after its steps
  std::uint64_t num_steps = 0;  // asked for; 0: not known
  std::uint64_t warn_from = 0;
  bool out_of_reach = false;
  std::optional<std::uint64_t> warned_at_step;

  // --- memory
  std::int64_t next_memory_read = 0;
  MemoryPeaks memory;

  std::uint64_t id = 0;
  GenerationSettings settings;  // with the monitor's where it said nothing

  void add_step(std::int64_t took, std::int64_t now) noexcept {
    if (steps_done == 0) {
      first_step = took;
      first_step_begin = step_begin;
    }
    last_step_end = now;
    step_sum += took;
    if (took > step_max) step_max = took;
    if (next_step < steps.size()) {
      steps[next_step] = took;
    } else if (step_limit > 0) {
      keep_step(took);
    }
    if (++next_step >= step_limit) next_step = 0;
    steps_done++;
    pace.add(took);
  }
  // Without memory the steps that there are become the ring.
  void keep_step(std::int64_t took) noexcept {
    try {
      steps.push_back(took);
    } catch (...) {
      step_limit = steps.size();
      next_step = 0;
      if (step_limit > 0) steps[0] = took;
    }
  }
  bool projectable() const noexcept {
    return num_steps > 0 && pace.known() && steps_done >= warn_from;
  }
  // Ticks from begin to end, as the steps so far promise.
  double projected(std::int64_t now) const noexcept { return projected_at(now, pace.typical()); }
  // Not less than that, and quicker to tell.
  double projected_at_most(std::int64_t now) const noexcept {
    return projected_at(now, pace.at_most());
  }
  double projected_at(std::int64_t now, double per_step) const noexcept {
    const std::int64_t left = static_cast<std::int64_t>(num_steps - steps_done);
    return static_cast<double>(now - begin) + tail +
           (left > 0 ? static_cast<double>(left) * per_step : 0);
  }
  // For the next generation; keeps the room for its steps.
  void reset() noexcept;
};

}  // namespace genscope::monitor

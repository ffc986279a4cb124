// One unit of a cell, run again as the suite's policy allows.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/suite/suite.h"

namespace genscope::bench {

enum class FailureKind : std::uint8_t { infra, throttled, product, cancelled };
FailureKind kind_of(FailureClass failure) noexcept;
// Of a unit as a whole: it did not begin, or none of its samples is good.
std::optional<Failure> failure_of_unit(const Unit& unit);

struct UnitPlan {
  const Params* params = nullptr;
  std::uint32_t process = 0, order_index = 0;
  bool warm_up = true;              // the first of its cell
  std::optional<double> timeout_s;  // of an iteration
};
// The last try. What was tried before is told in the flags of its samples.
Unit run_unit(const Suite& suite, Subject& subject, const UnitPlan& plan);

}  // namespace genscope::bench

// What a piece of work takes as a process of its own, so that peaks do not add up.
#pragma once

#include <functional>

namespace bench {

struct Spent {
  double cpu_seconds = 0;
  double peak_bytes = 0;  // resident
  bool worked = false;    // `body` said so
};

Spent in_child(const std::function<bool()>& body);

}  // namespace bench

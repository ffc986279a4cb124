// Other ways to record a span, measured in the same table.
#pragma once

#include <cstdint>

namespace bench {

// steady_clock, a mutex and a vector of structs with a string: what one writes in an hour.
void naive_span(std::uint64_t n);
void naive_clear();

// Two LTTng-UST tracepoints, if this build has it and a session daemon can be started.
bool lttng_available();
void lttng_span(std::uint64_t n);
class LttngSession {
 public:
  LttngSession();
  ~LttngSession();
  LttngSession(const LttngSession&) = delete;
  LttngSession& operator=(const LttngSession&) = delete;
  bool active() const { return active_; }

 private:
  bool active_ = false;
};

}  // namespace bench

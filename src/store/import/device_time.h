// Joins what ran on a device with the call that launched it.
#pragma once

#include <cstdint>
#include <vector>

#include "store/import/raw_trace.h"

namespace genscope::store {

// Fills RawSpan::parent of device work with the launching call, or, if there is none, the operator
// of the same external id. Returns how many were joined.
std::uint64_t link_launches(RawTrace& raw);

struct DeviceWork {
  std::uint32_t launch = 0;  // span of the Trace
  bool by_call = false;      // `launch` is a runtime call, not an operator
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
};

// Device time of the launching operator and of every span around it: the sum of the durations that
// they launched, and where the first began. The call itself has none, unless nothing is around
// it; a span within one of the same name has none, so that the sum over a name counts nothing
// twice.
void add_device_time(const std::vector<DeviceWork>& work, Trace& trace);

}  // namespace genscope::store

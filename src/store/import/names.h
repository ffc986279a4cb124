// How things of an imported file are called in a Trace.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace genscope::store {

inline constexpr std::size_t kMaxNameBytes = 255;  // of a name in a trace file

// `text`, or if it is longer than a name may be, its beginning and a checksum of it all: the names
// of two kernels often differ only in their last template argument.
std::string short_name(std::string_view text);

// "allocator:cuda:0", "allocator:cpu": from the numbers that PyTorch uses for types of devices.
std::string allocator_of(double device_type, double device_id);

}  // namespace genscope::store

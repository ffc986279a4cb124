// Bytes that are allocated at once, counted by this program's operator new.
#pragma once

#include <cstddef>

namespace bench {

// Starts a new peak at what is allocated now.
void reset_peak() noexcept;
// Bytes above what was allocated at reset_peak().
std::size_t peak_bytes() noexcept;

}  // namespace bench

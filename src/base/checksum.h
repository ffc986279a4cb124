// XXH3-64, the checksum of frames.
#pragma once

#include <cstddef>
#include <cstdint>

namespace genscope::base {

std::uint64_t checksum(const void* data, std::size_t size) noexcept;

}  // namespace genscope::base

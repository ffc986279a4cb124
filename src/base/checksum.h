// XXH3-64, the checksum of frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace genscope::base {

std::uint64_t checksum(const void* data, std::size_t size) noexcept;
// Of the two parts, one behind the other.
std::uint64_t checksum(const void* first, std::size_t first_size, const void* second,
                       std::size_t second_size) noexcept;

// Read a block at a time; nothing if it cannot be read.
std::optional<std::uint64_t> checksum_of_file(const std::string& path);

}  // namespace genscope::base

// Parsers of the small texts of sysfs that are more than a number.
#pragma once

#include <cstdint>
#include <string_view>

namespace genscope::probe::drm {

// "0x1002" or "744C".
bool parse_hex(std::string_view text, std::uint32_t& value) noexcept;

// The value of KEY=value in a uevent file; empty if it is not there.
std::string_view uevent_value(std::string_view text, std::string_view key) noexcept;

// pp_dpm_*: rows "1: 1100Mhz *", the star on the row in force. Rows may start with "S:".
bool parse_starred_mhz(std::string_view text, double& mhz) noexcept;
bool parse_highest_mhz(std::string_view text, double& mhz) noexcept;

// current_link_speed: "16.0 GT/s PCIe" is generation 4. False for "Unknown".
bool parse_link_generation(std::string_view text, double& generation) noexcept;

// A reason of i915 and xe without its prefix, "pl1" or "thermal", as bits of throttle_reasons.
std::uint64_t throttle_bit(std::string_view reason) noexcept;
// xe's list of reasons: "none", or words between blanks or newlines.
std::uint64_t throttle_bits(std::string_view reasons) noexcept;

}  // namespace genscope::probe::drm

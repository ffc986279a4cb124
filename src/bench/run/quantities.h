// Words that stand for quantities: "20m", "2%", "1024x1024".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace genscope::bench {

// The whole text as a finite number.
std::optional<double> number_in(std::string_view text) noexcept;
// "500ms", "180s", "20m", "1.5h" -> seconds, 0 or more. A number without a unit is none.
std::optional<double> duration_in(std::string_view text) noexcept;
// "2%" -> 0.02; "0.02" -> 0.02. From 0 to 1, so that a forgotten % is seen.
std::optional<double> share_in(std::string_view text) noexcept;
// A number, or one with a unit ("2ms", "128MB", "1GiB", "5%"), in the unit with which the metric's
// name ends (_s, _ms, _bytes, _mb, _pct, ...). Nothing if the units are of different kinds.
std::optional<double> quantity_in(std::string_view text, std::string_view metric) noexcept;

// "1024x1024", or with frames "1280x720x81".
struct PixelSize {
  std::uint32_t w = 0, h = 0;
  std::optional<std::uint32_t> frames;
};
std::optional<PixelSize> size_in(std::string_view text) noexcept;

}  // namespace genscope::bench

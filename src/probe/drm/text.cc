#include "probe/drm/text.h"

#include <algorithm>
#include <charconv>

#include "base/file_reader.h"
#include "trace/metrics.h"

namespace genscope::probe::drm {

bool parse_hex(std::string_view text, std::uint32_t& value) noexcept {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint32_t parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return false;
  value = parsed;
  return true;
}

std::string_view uevent_value(std::string_view text, std::string_view key) noexcept {
  while (!text.empty()) {
    std::string_view line = base::next_part(text, '\n');
    if (base::next_part(line, '=') == key) return line;
  }
  return {};
}

namespace {

bool row_mhz(std::string_view row, double& mhz) noexcept {
  base::next_part(row, ':');
  const std::string_view word = base::next_word(row);
  const std::size_t digits = std::min(word.find_first_not_of("0123456789."), word.size());
  return (word.substr(digits) == "Mhz" || word.substr(digits) == "MHz") &&
         base::parse_number(word.substr(0, digits), mhz);
}

}  // namespace

bool parse_starred_mhz(std::string_view text, double& mhz) noexcept {
  while (!text.empty()) {
    const std::string_view row = base::next_part(text, '\n');
    if (row.find('*') != std::string_view::npos) return row_mhz(row, mhz);
  }
  return false;
}

bool parse_highest_mhz(std::string_view text, double& mhz) noexcept {
  bool found = false;
  while (!text.empty()) {
    double value = 0;
    if (!row_mhz(base::next_part(text, '\n'), value)) continue;
    mhz = found ? std::max(mhz, value) : value;
    found = true;
  }
  return found;
}

bool parse_link_generation(std::string_view text, double& generation) noexcept {
  double speed = 0;
  if (!base::parse_number(base::next_word(text), speed)) return false;
  if (!base::next_word(text).starts_with("GT/s")) return false;
  constexpr double kSpeeds[] = {2.5, 5, 8, 16, 32, 64, 128};
  const double* const at = std::find(std::begin(kSpeeds), std::end(kSpeeds), speed);
  if (at == std::end(kSpeeds)) return false;
  generation = static_cast<double>(at - std::begin(kSpeeds) + 1);
  return true;
}

std::uint64_t throttle_bit(std::string_view reason) noexcept {
  struct Row {
    std::string_view part;
    std::uint64_t bits;
  };
  // The first part that occurs in the reason decides: newer kernels have soc_thermal, psys_pl1, ...
  constexpr Row kRows[] = {
      {"prochot", trace::kThrottleThermalHardware},
      {"thermalert", trace::kThrottleThermalHardware},
      {"therm", trace::kThrottleThermalSoftware},
      {"ratl", trace::kThrottleThermalSoftware},
      {"tdc", trace::kThrottleCurrent},
      {"icc", trace::kThrottleCurrent},
      {"pl", trace::kThrottlePowerCap},
  };
  for (const Row& row : kRows) {
    if (reason.find(row.part) != std::string_view::npos) return row.bits;
  }
  return trace::kThrottleOther;
}

std::uint64_t throttle_bits(std::string_view reasons) noexcept {
  std::uint64_t bits = 0;
  while (!reasons.empty()) {
    std::string_view line = base::next_part(reasons, '\n');
    for (std::string_view word = base::next_word(line); !word.empty();
         word = base::next_word(line)) {
      if (word != "none") bits |= throttle_bit(word);
    }
  }
  return bits;
}

}  // namespace genscope::probe::drm

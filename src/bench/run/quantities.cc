#include "bench/run/quantities.h"

#include <charconv>
#include <cmath>

namespace genscope::bench {
namespace {

enum class QuantityKind { seconds, bytes, share, joules };
struct QuantityUnit {
  std::string_view word;
  QuantityKind kind;
  double factor;
};
// As they are written behind a number.
constexpr QuantityUnit kWritten[] = {
    {"ns", QuantityKind::seconds, 1e-9},     {"us", QuantityKind::seconds, 1e-6},
    {"ms", QuantityKind::seconds, 1e-3},     {"s", QuantityKind::seconds, 1},
    {"m", QuantityKind::seconds, 60},        {"min", QuantityKind::seconds, 60},
    {"h", QuantityKind::seconds, 3600},      {"B", QuantityKind::bytes, 1},
    {"KB", QuantityKind::bytes, 1e3},        {"MB", QuantityKind::bytes, 1e6},
    {"GB", QuantityKind::bytes, 1e9},        {"KiB", QuantityKind::bytes, 1024},
    {"MiB", QuantityKind::bytes, 1048576.0}, {"GiB", QuantityKind::bytes, 1073741824.0},
    {"%", QuantityKind::share, 0.01},        {"J", QuantityKind::joules, 1},
    {"kJ", QuantityKind::joules, 1e3},
};
// As names of metrics end.
constexpr QuantityUnit kSuffixes[] = {
    {"_ns", QuantityKind::seconds, 1e-9},     {"_us", QuantityKind::seconds, 1e-6},
    {"_ms", QuantityKind::seconds, 1e-3},     {"_s", QuantityKind::seconds, 1},
    {"_bytes", QuantityKind::bytes, 1},       {"_kb", QuantityKind::bytes, 1e3},
    {"_mb", QuantityKind::bytes, 1e6},        {"_gb", QuantityKind::bytes, 1e9},
    {"_mib", QuantityKind::bytes, 1048576.0}, {"_gib", QuantityKind::bytes, 1073741824.0},
    {"_ratio", QuantityKind::share, 1},       {"_pct", QuantityKind::share, 0.01},
    {"_j", QuantityKind::joules, 1},
};

// The number in front, and what follows it.
std::optional<double> leading_number(std::string_view text, std::string_view& rest) noexcept {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc{} || !std::isfinite(value)) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(stop - text.data()));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return value;
}

const QuantityUnit* written_unit(std::string_view word) noexcept {
  for (const QuantityUnit& unit : kWritten) {
    if (unit.word == word) return &unit;
  }
  return nullptr;
}

}  // namespace

std::optional<double> number_in(std::string_view text) noexcept {
  std::string_view rest;
  const std::optional<double> value = leading_number(text, rest);
  return rest.empty() ? value : std::nullopt;
}

std::optional<double> duration_in(std::string_view text) noexcept {
  std::string_view rest;
  const std::optional<double> value = leading_number(text, rest);
  const QuantityUnit* const unit = written_unit(rest);
  if (!value || unit == nullptr || unit->kind != QuantityKind::seconds || *value < 0)
    return std::nullopt;
  return *value * unit->factor;
}

std::optional<double> share_in(std::string_view text) noexcept {
  std::string_view rest;
  std::optional<double> value = leading_number(text, rest);
  if (!value || (!rest.empty() && rest != "%")) return std::nullopt;
  if (!rest.empty()) value = *value / 100;
  return *value >= 0 && *value <= 1 ? value : std::nullopt;
}

std::optional<double> quantity_in(std::string_view text, std::string_view metric) noexcept {
  std::string_view rest;
  const std::optional<double> value = leading_number(text, rest);
  if (!value || rest.empty()) return value;
  const QuantityUnit* const unit = written_unit(rest);
  if (unit == nullptr) return std::nullopt;
  for (const QuantityUnit& suffix : kSuffixes) {
    if (metric.ends_with(suffix.word) && suffix.kind == unit->kind) {
      return *value * unit->factor / suffix.factor;
    }
  }
  return std::nullopt;
}

std::optional<PixelSize> size_in(std::string_view text) noexcept {
  constexpr std::uint32_t kMost = 1'000'000;
  std::uint32_t parts[3] = {0, 0, 0};
  std::size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (count < 3) {
    const auto [stop, failed] = std::from_chars(at, end, parts[count]);
    if (failed != std::errc{} || parts[count] == 0 || parts[count] > kMost) return std::nullopt;
    ++count;
    at = stop;
    if (at == end) break;
    if (*at++ != 'x') return std::nullopt;
  }
  if (count < 2 || at != end) return std::nullopt;
  PixelSize size{parts[0], parts[1], std::nullopt};
  if (count == 3) size.frames = parts[2];
  return size;
}

}  // namespace genscope::bench

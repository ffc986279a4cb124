// Facts: what is known, and how a value reads.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include <genscope/advise.h>

#include "advise/fact_names.h"

namespace genscope {
namespace {

// Three significant digits, and never an exponent where digits would do.
std::string digits(double value) {
  const double size = std::fabs(value);
  if (size >= 1000 && size < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

std::string scaled(double value, double base, std::initializer_list<const char*> units) {
  const char* const* unit = units.begin();
  while (std::fabs(value) >= base && unit + 1 != units.end()) {
    value /= base;
    ++unit;
  }
  return digits(value) + " " + *unit;
}

std::string with_unit(std::string_view unit, double value) {
  if (unit == "share") return digits(value * 100) + "%";
  if (unit == "x") return digits(value) + "x";
  if (unit == "ns") return scaled(value / 1e6, 1000, {"ms", "s"});
  if (unit == "B") return scaled(value, 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
  if (unit == "B/s") return scaled(value, 1000, {"B/s", "kB/s", "MB/s", "GB/s"});
  if (unit == "count") return fmt::format("{:.15g}", value);
  if (unit.empty()) return fmt::format("{:.6g}", value);
  return fmt::format("{}{}{}", digits(value), unit.starts_with('%') ? "" : " ", unit);
}

}  // namespace

void Facts::set(std::string name, FactValue value) {
  missing_.erase(name);
  values_.insert_or_assign(std::move(name), std::move(value));
}

void Facts::set_missing(std::string name, std::string reason) {
  values_.erase(name);
  missing_.insert_or_assign(std::move(name), std::move(reason));
}

const FactValue* Facts::find(std::string_view name) const noexcept {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::string_view Facts::why_missing(std::string_view name) const noexcept {
  const auto found = missing_.find(name);
  return found == missing_.end() ? std::string_view() : found->second;
}

std::string fact_text(std::string_view fact, const FactValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  const advice::FactName* const row = advice::find_fact(fact);
  return with_unit(row == nullptr ? std::string_view() : row->unit, std::get<double>(value));
}

}  // namespace genscope

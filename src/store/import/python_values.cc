#include "store/import/python_values.h"

#include <cmath>

namespace genscope::store {

std::uint32_t PythonValues::member(std::uint32_t dict, std::string_view key) const {
  if (kind(dict) != Kind::dict) return kMissing;
  const std::vector<std::uint32_t>& items = of(dict);
  for (std::size_t i = items.size() / 2; i-- > 0;) {
    if (kind(items[2 * i]) == Kind::text && text(items[2 * i]) == key) return items[2 * i + 1];
  }
  return kMissing;
}

std::optional<double> PythonValues::number_of(std::uint32_t value) const {
  if (const auto whole = integer_of(value)) return static_cast<double>(*whole);
  if (kind(value) != Kind::real) return std::nullopt;
  const double real = __builtin_bit_cast(double, values_[value].bits);
  return std::isfinite(real) ? std::optional(real) : std::nullopt;
}

std::string_view name(PythonValues::Kind kind) {
  switch (kind) {
    case PythonValues::Kind::none:
      return "None";
    case PythonValues::Kind::boolean:
      return "a boolean";
    case PythonValues::Kind::integer:
      return "an integer";
    case PythonValues::Kind::real:
      return "a float";
    case PythonValues::Kind::text:
      return "a text";
    case PythonValues::Kind::list:
      return "a list";
    case PythonValues::Kind::tuple:
      return "a tuple";
    case PythonValues::Kind::dict:
      return "a dict";
    case PythonValues::Kind::other:
      break;
  }
  return "something else";
}

}  // namespace genscope::store

#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <type_traits>

namespace genscope::cli {
namespace {

// The whole text as a number; nothing else gets a word about ranges from us.
std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

// "nan" is a number to who reads numbers, and is in no order with any limit.
std::string finite(const std::string& text) {
  const std::optional<double> value = number_of(text);
  return !value || std::isfinite(*value) ? "" : text + ": give a finite number";
}

template <class T>
constexpr bool kIsReal = std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>>;

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::one_of(std::vector<std::string> words) {
  option_->check(CLI::IsMember(std::move(words)).description(""));
  return *this;
}

Option& Option::range(double lowest, double highest) {
  const auto within = [lowest, highest](const std::string& text) -> std::string {
    const std::optional<double> value = number_of(text);
    return value && *value >= lowest && *value <= highest
               ? ""
               : fmt::format("{}: give a number from {} to {}", text, lowest, highest);
  };
  option_->check(CLI::Validator(within, ""));
  return *this;
}

Option& Option::positive() {
  const auto above_0 = [](const std::string& text) -> std::string {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool fine = error == std::errc() && end == text.data() + text.size() && value > 0;
    return fine ? "" : text + ": give a number above 0";
  };
  option_->check(CLI::Validator(above_0, ""));
  return *this;
}

Option& Option::split_at(char separator) {
  option_->delimiter(separator);
  return *this;
}

Option& Option::one_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

template <class T>
Option Options::add(const std::string& names, T& value, const std::string& type,
                    const std::string& help) {
  CLI::Option* const option = app_.add_option(names, value, help)->type_name(type);
  if constexpr (kIsReal<T>) option->check(CLI::Validator(finite, ""));
  return Option(option);
}

template Option Options::add(const std::string&, std::string&, const std::string&,
                             const std::string&);
template Option Options::add(const std::string&, int&, const std::string&, const std::string&);
template Option Options::add(const std::string&, double&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::uint64_t&, const std::string&,
                             const std::string&);
template Option Options::add(const std::string&, std::optional<std::string>&, const std::string&,
                             const std::string&);
template Option Options::add(const std::string&, std::optional<int>&, const std::string&,
                             const std::string&);
template Option Options::add(const std::string&, std::optional<double>&, const std::string&,
                             const std::string&);
template Option Options::add(const std::string&, std::optional<std::uint64_t>&, const std::string&,
                             const std::string&);
template Option Options::add(const std::string&, std::vector<std::string>&, const std::string&,
                             const std::string&);
template Option Options::add(const std::string&, std::vector<std::pair<std::string, std::string>>&,
                             const std::string&, const std::string&);

Option Options::flag(const std::string& names, bool& value, const std::string& help) {
  return Option(app_.add_flag(names, value, help));
}

void Options::footer(const std::string& text) { app_.footer(text); }

}  // namespace genscope::cli

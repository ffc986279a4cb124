// A user's own metric: a command for each pair, which prints a number or JSON.
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/quality/pair.h"
#include "bench/quality/piped.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kMaxMetricBytes = 1 << 20;

std::string quoted_for_shell(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string filled(std::string_view command, const std::string& before, const std::string& after,
                   const std::string& prompt) {
  const std::pair<std::string_view, const std::string*> names[] = {
      {"{before}", &before}, {"{after}", &after}, {"{prompt}", &prompt}};
  std::string out;
  while (!command.empty()) {
    bool found = false;
    for (const auto& [name, value] : names) {
      if (!command.starts_with(name)) continue;
      out += quoted_for_shell(*value);
      command.remove_prefix(name.size());
      found = true;
      break;
    }
    if (found) continue;
    out += command[0];
    command.remove_prefix(1);
  }
  return out;
}

bool take_number(const nlohmann::json& value, double& number) {
  if (!value.is_number()) return false;
  number = value.get<double>();
  return std::isfinite(number);
}

// {"clip": {"before": .31, "after": .30}} or {"lpips": 0.1}; other values are passed over.
bool take_metrics(const nlohmann::json& object, QualityPair& pair) {
  for (const auto& [name, value] : object.items()) {
    double before = 0, after = 0;
    if (take_number(value, after)) {
      pair.after[name] = after;
    } else if (value.is_object() && value.contains("before") && value.contains("after") &&
               take_number(value["before"], before) && take_number(value["after"], after)) {
      pair.before[name] = before;
      pair.after[name] = after;
    }
  }
  return !pair.after.empty();
}

}  // namespace

std::string run_user_metric(const QualityOptions& options, const std::string& before,
                            const std::string& after, QualityPair& pair) {
  const Result<std::string> text =
      output_of({"sh", "-c", filled(options.command, before, after, pair.prompt)},
                options.command_timeout_s, kMaxMetricBytes);
  if (!text) return text.error().message;
  // The last line counts: libraries greet on stdout.
  std::string_view rest = *text;
  while (!rest.empty() && static_cast<unsigned char>(rest.back()) <= ' ') rest.remove_suffix(1);
  for (const std::string_view tried : {rest, rest.substr(rest.rfind('\n') + 1)}) {
    const auto value = nlohmann::json::parse(tried, nullptr, false);
    double number = 0;
    if (take_number(value, number)) {
      pair.after["score"] = number;
      return "";
    }
    if (value.is_object() && take_metrics(value, pair)) return "";
  }
  return fmt::format("the quality command printed neither a number nor an object of numbers: {}",
                     rest.substr(0, 80));
}

}  // namespace genscope::bench

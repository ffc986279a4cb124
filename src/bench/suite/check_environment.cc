#include "bench/suite/check_environment.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "bench/run/quantities.h"

namespace genscope::bench {
namespace {

constexpr std::string_view kForeign = "foreign_gpu_processes";

// The readings behind a name: of every GPU, or of the machine.
std::vector<const EnvironmentCheck*> readings_of(const Environment& environment,
                                                 std::string_view name) {
  std::string_view ending = name == "temp" ? "_temperature" : name == kForeign ? "_processes" : "";
  std::vector<const EnvironmentCheck*> found;
  for (const EnvironmentCheck& check : environment.checks) {
    const bool of_gpu =
        !ending.empty() && check.name.starts_with("gpu") && check.name.ends_with(ending);
    if (of_gpu || check.name == name) found.push_back(&check);
  }
  return found;
}

std::optional<double> leading(std::string_view text) {
  std::size_t end = text.find_first_not_of("0123456789.+-");
  return number_in(text.substr(0, std::min(end, text.size())));
}

// Values of the fingerprint that a requirement is about.
std::vector<std::string> facts_for(const Environment& environment, const std::string& name) {
  if (name == "class") return {environment.klass};
  std::vector<std::string> found;
  for (const auto& [key, value] : environment.fingerprint) {
    const bool of_gpu = key.starts_with("gpus.") &&
                        (name == "gpu" ? key.ends_with(".name") : key.ends_with("." + name));
    if (of_gpu || key == name) found.push_back(value);
  }
  return found;
}

EnvironmentCheck required(const Environment& environment, const std::string& name,
                          const std::string& pattern) {
  EnvironmentCheck check{"required_" + name, "ok", "", pattern};
  if (name == kForeign) {
    const auto readings = readings_of(environment, name);
    check.value = readings.empty() ? "not readable" : "none";
    if (readings.empty()) check.status = "unknown";
    for (const EnvironmentCheck* reading : readings) {
      if (reading->value == "0") continue;
      check.value = reading->value;
      check.status = "warn";
    }
    return check;
  }
  const std::vector<std::string> facts = facts_for(environment, name);
  if (facts.empty()) {
    check.value = name == "gpu" ? "no GPU" : "not known";
    check.status = "warn";
  }
  for (const std::string& fact : facts) {
    if (check.status == "ok") check.value = fact;
    if (::fnmatch(pattern.c_str(), fact.c_str(), 0) == 0) continue;
    check.value = fact;
    check.status = "warn";
  }
  return check;
}

EnvironmentCheck warned(const Environment& environment, const std::string& text) {
  const std::optional<WarnRule> rule = warn_rule(text);
  EnvironmentCheck check{"warn_" + (rule ? rule->name : text), "unknown", "not readable", text};
  if (!rule) return check;
  for (const EnvironmentCheck* reading : readings_of(environment, rule->name)) {
    std::string status = reading->status;
    check.limit = rule->sign == 0 ? reading->limit
                                  : fmt::format("at {} {:g}", rule->sign == '>' ? "most" : "least",
                                                rule->limit);
    if (rule->sign != 0) {
      const std::optional<double> value = leading(reading->value);
      const bool beyond =
          value && (rule->sign == '>' ? *value > rule->limit : *value < rule->limit);
      status = !value ? "unknown" : beyond ? "warn" : "ok";
    }
    if (check.status == "warn") continue;  // the worst of several GPUs
    check.status = status;
    check.value = reading->value;
  }
  return check;
}

}  // namespace

const std::vector<std::string>& required_names() {
  static const std::vector<std::string> kNames = {"gpu",      "foreign_gpu_processes",
                                                  "driver",   "cuda",
                                                  "cpu",      "cores",
                                                  "os",       "os_family",
                                                  "kernel",   "machine",
                                                  "governor", "class"};
  return kNames;
}

const std::vector<std::string>& warned_names() {
  static const std::vector<std::string> kNames = {
      "governor", "turbo", "load", "memory", "temp", "foreign_gpu_processes", "clocks_unlocked"};
  return kNames;
}

std::optional<WarnRule> warn_rule(std::string_view text) {
  WarnRule rule;
  const std::size_t sign = text.find_first_of("<>");
  rule.name = std::string(text.substr(0, sign));
  while (rule.name.ends_with(' ')) rule.name.pop_back();
  const auto& known = warned_names();
  if (std::find(known.begin(), known.end(), rule.name) == known.end()) return std::nullopt;
  if (sign == std::string_view::npos) return rule;
  rule.sign = text[sign];
  std::string_view limit = text.substr(sign + 1);
  while (limit.starts_with(' ')) limit.remove_prefix(1);
  while (limit.ends_with('C') || limit.ends_with('%')) limit.remove_suffix(1);
  const std::optional<double> number = number_in(limit);
  if (!number) return std::nullopt;
  rule.limit = *number;
  return rule;
}

void check_environment(const SuiteEnvironment& asked, Environment& environment) {
  std::vector<EnvironmentCheck> made;
  for (const auto& [name, pattern] : asked.require) {
    EnvironmentCheck check = required(environment, name, pattern);
    if (check.status != "ok" && asked.fail_on_violation) check.status = "unfit";
    made.push_back(std::move(check));
  }
  for (const std::string& text : asked.warn) made.push_back(warned(environment, text));
  environment.checks.insert(environment.checks.end(), made.begin(), made.end());
}

bool is_unfit(const Environment& environment) {
  return std::any_of(environment.checks.begin(), environment.checks.end(),
                     [](const EnvironmentCheck& check) { return check.status == "unfit"; });
}

}  // namespace genscope::bench

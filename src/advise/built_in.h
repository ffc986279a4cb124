// The rules that ship with genscope, as constant data: parsing their YAML took most of the time of
// a short command. tools/rules_to_cc makes built_in.cc from rules/*.yaml (cmake/Rules.cmake).
#pragma once

#include <span>
#include <string_view>

#include <genscope/advise.h>

namespace genscope::advice {

struct BuiltInPatch {
  std::string_view target, lines;
};

// As Rule.
struct BuiltInRule {
  std::string_view file;  // "offload", of rules/offload.yaml
  std::string_view id, title, condition;
  Severity severity;
  std::string_view advice, gain;
  double gain_low, gain_high;
  RuleConfidence confidence;
  std::string_view citation, stage, hurts, share;
  std::string_view conflicts;  // ids, a space between two
  std::span<const BuiltInPatch> apply;
};

std::span<const BuiltInRule> built_in_table() noexcept;

}  // namespace genscope::advice

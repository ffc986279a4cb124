// The files of rules/ inside the program; built_in.cc is generated from them, cmake/Rules.cmake.
#pragma once

#include <span>
#include <string_view>

namespace genscope::advice {

struct BuiltIn {
  std::string_view name;  // "rules/offload.yaml"
  std::string_view yaml;
};

std::span<const BuiltIn> built_in_files() noexcept;

}  // namespace genscope::advice

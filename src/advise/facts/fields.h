// The facts that are fields of an Analysis: one row each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <genscope/advise.h>

namespace genscope::advice {

struct FactField {
  std::string_view fact;
  // Nothing: it was not measured, and `reason` says why.
  std::optional<FactValue> (*get)(const Analysis& analysis);
  std::string (*reason)(const Analysis& analysis);
};

std::span<const FactField> fact_fields() noexcept;

}  // namespace genscope::advice

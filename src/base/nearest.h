// "Did you mean": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string_view>

namespace genscope::base {

// The nearest of `known` that is near enough to be meant; empty if none is. A word of which `word`
// is the beginning is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace genscope::base

// "Did you mean": the known word nearest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace genscope::base {

// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `known` that is near enough to be meant; empty if none is.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace genscope::base

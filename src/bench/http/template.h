// Texts with places for values: {prompt}, {seed}, {size}.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/bench.h>

namespace genscope::bench {

// What a request puts in: values_of(), with its iteration for a seed that it has not.
Params template_values(const Request& request);

// Names in braces, in order, each once. {name} is a letter or _, then letters, digits, _ . and -;
// other braces are text.
std::vector<std::string> names_in(std::string_view text);

// `text` with the values put in. `json`: within a string the value is escaped; elsewhere a number,
// true, false and null go in as they are, and anything else as a string. Otherwise as it is.
// An Error names an unknown name, and the one that was meant.
enum class Filling { plain, json };
Result<std::string> fill(std::string_view text, const Params& values, Filling filling);

}  // namespace genscope::bench

// The parts of docs/rules.md that are made from the rules and the facts.
#pragma once

#include <string>
#include <string_view>

namespace genscope::advice {

// `page` with what stands between `<!-- generated: rules -->` or `<!-- generated: facts -->` and
// the next `<!-- /generated -->` written anew. Empty if a mark or its end is missing.
std::string with_generated(std::string_view page);

}  // namespace genscope::advice

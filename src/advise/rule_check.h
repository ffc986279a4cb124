// What must hold for a rule before it may be asked, and the places for values in its advice.
#pragma once

#include <string>
#include <string_view>

#include <genscope/advise.h>

namespace genscope::advice {

// The error begins with the field: "condition: at 14: no fact is called ...".
Status check_rule(const Rule& rule);

// `advice` with each {fact} replaced by its value, by "(unknown)" where there is none.
std::string filled(std::string_view advice, const Facts& facts);

}  // namespace genscope::advice

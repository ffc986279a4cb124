// Findings for people, for advice_text() and for reports that end with them.
#pragma once

#include <cstddef>
#include <string>

#include <genscope/advise.h>

namespace genscope::report {

// Each finding, then how many rules did not fire and how many abstained. `brief`: what is the
// matter and what to do, without evidence, gain and source.
std::string findings_text(const Advice& advice, std::size_t width, bool color, bool brief);

// The colour of a terminal, for styled().
const char* severity_style(Severity severity);
// What was gained on other machines, in a phrase; "" if nothing is known.
std::string elsewhere_text(const Rule& rule);
// What can be gained in this run at most; "" if that is not known.
std::string here_text(const Finding& finding);
// "steps.first_ratio = 9.8x, steps.steady_cv = 2%"; printable.
std::string evidence_text(const Finding& finding);

}  // namespace genscope::report

// Names of metrics that somebody wrote.
#pragma once

#include <string>
#include <string_view>

namespace genscope::bench {

// The metric that a mistyped name means; empty if the name is known, in whatever unit, or is near
// to none that is.
std::string meant_metric(std::string_view name);

}  // namespace genscope::bench

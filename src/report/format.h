// Figures as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/figures.h"

namespace genscope::report {

using base::bytes;
using base::count;
using base::counted;
using base::duration;
using base::energy;
using base::percent;
using base::watts;

// A number of CPUs: "0.146", "1.81", and "2" where it is whole.
std::string cores(double value);

// How many columns a text may use: what was asked for, at least 40.
std::size_t text_width(int asked) noexcept;

// A measured value of unknown unit, up to 6 significant digits: "0.125", "1e+20", "nan".
std::string number(double value);

// "2023-11-14 22:13:20 UTC".
std::string utc_time(std::int64_t unix_ns);

// RFC 3339 with nanoseconds: "2023-11-14T22:13:20.123456789Z".
std::string rfc3339(std::int64_t unix_ns);

}  // namespace genscope::report

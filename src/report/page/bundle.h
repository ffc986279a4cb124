// The pages of web/dist, inside the library.
#pragma once

#include <string_view>

namespace genscope::report {

// genscope.html: holds the data of a report or of a comparison.
std::string_view report_page() noexcept;
// live.html: a server shows it; it asks that server for its data.
std::string_view live_page() noexcept;

}  // namespace genscope::report

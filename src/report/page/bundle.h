// web/dist/genscope.html, inside the library.
#pragma once

#include <string_view>

namespace genscope::report {

std::string_view web_bundle() noexcept;

}  // namespace genscope::report

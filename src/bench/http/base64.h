// Base64, as APIs put pictures into JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace genscope::bench {

// A leading "data:image/png;base64," is passed over, and so are line ends. Nothing if it is not
// base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace genscope::bench

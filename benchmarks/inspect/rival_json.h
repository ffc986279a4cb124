// The same header through nlohmann's event parser, which keeps nothing.
#pragma once

#include <cstddef>
#include <string>

namespace bench {

std::size_t scan_with_nlohmann(const std::string& json);

}  // namespace bench

// What the tables of training monitors have in common.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace genscope::monitor {

inline constexpr std::size_t kTableWidth = 90;
inline constexpr std::size_t kNameColumns = 30;

// An operation's name, safe for a terminal, in exactly kNameColumns.
std::string name_cell(std::string_view operation);
// "+76.9"; "n/a" for what was not measured.
std::string signed_mb(std::optional<double> mb);
std::string plain_mb(std::optional<double> mb);

}  // namespace genscope::monitor

// What the tables of training monitors have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace genscope::compat::styles {

inline constexpr std::size_t kDocumentWidth = 90;

// A title between rules and the line of columns below it.
std::string document_head(std::string_view title, std::string_view columns);
// A name, safe for a terminal, in exactly 30 columns.
std::string document_name(std::string_view name);
// Bytes as MB (1024 * 1024) with a sign or without; "n/a" if not measured.
std::string signed_mb(std::optional<double> bytes);
std::string plain_mb(std::optional<double> bytes);

inline double to_mb(double bytes) noexcept { return bytes / (1024 * 1024); }
inline double to_seconds(double ns) noexcept { return ns / 1e9; }
inline double to_seconds(std::int64_t ns) noexcept { return static_cast<double>(ns) / 1e9; }

}  // namespace genscope::compat::styles

// Times of day in results: RFC 3339 in UTC with nanoseconds, "2026-01-31T12:00:00.500000000Z".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace genscope::bench {

std::string timestamp(std::int64_t unix_ns);
std::string timestamp_now();
// With or without a fraction; ends in Z or an offset such as +02:00.
std::optional<std::int64_t> parse_timestamp(std::string_view text) noexcept;

}  // namespace genscope::bench

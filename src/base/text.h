// Text: the few things that every module needs and the standard library lacks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace genscope::base {

// At most `limit` bytes of `text`, never cutting a UTF-8 character in two.
std::string_view cut_utf8(std::string_view text, std::size_t limit) noexcept;

// `text` with U+FFFD for each byte that is not UTF-8.
std::string to_utf8(std::string_view text);

// Adds a character, up to U+10FFFF.
void append_utf8(std::string& out, std::uint32_t code);

// Lower-case hexadecimal.
std::string hex(std::span<const std::uint8_t> bytes);

// `text` as a JSON string, with quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

// `text` between the quotes of a label in Prometheus' text format.
std::string prometheus_label(std::string_view text);

// `text` reduced to [A-Za-z0-9._-], for file names; never empty.
std::string file_name_from(std::string_view text, std::size_t limit);

}  // namespace genscope::base

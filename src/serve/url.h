// Addresses as requests give them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace genscope::serve {

struct Target {
  std::string path;
  std::map<std::string, std::string> query;  // of a key that comes twice, the first
};

// Origin form only ("/a/b?c=d"), percent-decoded. Nothing for what is malformed: no leading slash,
// a broken escape, a NUL or another control character.
std::optional<Target> parse_target(std::string_view text);

// The address that parse_target takes for this: everything but letters, digits and -_.~/ escaped.
std::string target_text(const Target& target);

std::string lower_case(std::string_view text);  // of ASCII

std::uint64_t parse_number(std::string_view text) noexcept;  // 0 if it is none

}  // namespace genscope::serve

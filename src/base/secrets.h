// Text that is written to a shared file, with what looks like a secret replaced by `***`.
//
// Command lines end up in run.json, in traces and in pages that people send one another. What is a
// secret is told by its name (`--api-key x`, `HF_TOKEN=x`, `"password": "x"`, `Authorization:
// Bearer x`, `?sig=x`), by its place (`https://user:x@host`) or by its shape (`ghp_...`, a JWT, a
// private key). docs/security.md lists the patterns. A name stays, only its value goes. Pure
// functions, linear in the text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace genscope::base {

inline constexpr std::string_view kMasked = "***";

// One text: a script, a URL, a header, JSON.
std::string mask_secrets(std::string_view text);

// The words of a command line: the value of an option may be the next word.
std::vector<std::string> mask_secrets(std::span<const std::string> words);

}  // namespace genscope::base

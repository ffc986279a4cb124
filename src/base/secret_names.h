// What a secret is called and what it looks like. The tables behind secrets.h; docs/security.md
// shows them to users, so a change here is a change there.
#pragma once

#include <cstddef>
#include <string_view>

namespace genscope::base {

// How far a name gives its value away.
enum class Secrecy {
  none,    // the value is shown
  random,  // the value is hidden if it looks random: `--key`, `--token-ids`, `cache_key`
  path,    // hidden unless it is a path: `--private-key key.pem`, `..._CREDENTIALS=/etc/x.json`
  pair,    // of `user:password` the password is hidden: `--auth`, `--user`
  always,  // hidden: `--password`, `HF_TOKEN`, `api_key`
};

// Of the name of an option, a variable, a header, a key in JSON or in a query string:
// `--hf-token`, `HF_TOKEN`, `hfToken` and `x.hf_token` are alike. Dashes before it do not matter.
Secrecy secrecy_of(std::string_view name) noexcept;

// 16 characters or more that no person made up: letters and digits in one piece, or a UUID.
bool looks_random(std::string_view text) noexcept;

// Starts like a path, or ends in a short extension.
bool looks_like_path(std::string_view text) noexcept;

// Bytes of the token of a known service that `text` begins with (`ghp_...`, `AKIA...`, a JWT), or
// 0.
std::size_t known_token(std::string_view text) noexcept;

// Whether `flag` of `program` takes a password, though elsewhere it means something else: `-p` of
// sshpass. `attached`: the value follows in the same word, as in `mysql -pPASSWORD`.
bool takes_password(std::string_view program, std::string_view flag, bool& attached) noexcept;

}  // namespace genscope::base

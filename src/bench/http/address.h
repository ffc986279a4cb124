// An address of the kind http://host:port/path?query, or https://...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <genscope/error.h>

namespace genscope::bench {

struct Address {
  std::string host;          // without the brackets of an IPv6 address
  std::uint16_t port = 80;   // 443 for https
  bool tls = false;          // https
  std::string target = "/";  // path and query, as they are sent
  // For the field Host: the port where it is not the usual one.
  std::string authority() const;
  std::string path() const { return target.substr(0, target.find('?')); }
};

// What it refuses: other schemes, a user or password, controls and blanks, a port that is none.
Result<Address> parse_address(std::string_view url);

}  // namespace genscope::bench

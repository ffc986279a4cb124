#include "bench/http/address.h"

#include <fmt/format.h>

#include "base/file_reader.h"
#include "base/printable.h"

namespace genscope::bench {
namespace {

Error bad_address(std::string_view url, std::string_view why) {
  return {ErrorCode::invalid_argument, fmt::format("{}: {}", base::shorten(url, 120), why)};
}

}  // namespace

std::string Address::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == (tls ? 443 : 80) ? name : fmt::format("{}:{}", name, port);
}

Result<Address> parse_address(std::string_view url) {
  constexpr std::string_view kPlain = "http://", kTls = "https://";
  const bool tls = url.starts_with(kTls);
  if (!tls && !url.starts_with(kPlain)) {
    return bad_address(url,
                       "an address begins with http:// or https://, such as "
                       "http://127.0.0.1:8000/path");
  }
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) {
      return bad_address(url, "an address holds no blanks and no control characters");
    }
  }
  const std::string_view rest = url.substr(tls ? kTls.size() : kPlain.size());
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, end);
  std::string_view target = rest.substr(end);
  target = target.substr(0, target.find('#'));
  if (authority.find('@') != std::string_view::npos) {
    return bad_address(url, "no user in the address; send a header instead");
  }
  Address out;
  out.tls = tls;
  out.port = tls ? 443 : 80;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return bad_address(url, "the bracket [ is not closed");
    out.host = authority.substr(1, close - 1);
    authority.remove_prefix(close + 1);
  } else {
    out.host = authority.substr(0, authority.find(':'));
    authority.remove_prefix(out.host.size());
  }
  if (out.host.empty()) return bad_address(url, "the name of the host is missing");
  if (!authority.empty()) {
    std::uint64_t port = 0;
    if (authority.front() != ':' || !base::parse_number(authority.substr(1), port) || port == 0 ||
        port > 65535) {
      return bad_address(url, "the port is a number from 1 to 65535");
    }
    out.port = static_cast<std::uint16_t>(port);
  }
  if (!target.empty())
    out.target = target.front() == '/' ? std::string(target) : "/" + std::string(target);
  return out;
}

}  // namespace genscope::bench

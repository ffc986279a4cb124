// Who may ask. A page in another tab of the same browser can send requests to loopback: the token
// keeps it from being answered, the check of Host keeps a name that points to loopback (DNS
// rebinding) from being believed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http.h"

namespace genscope::serve {

class Guard {
 public:
  // `token`: that requests must have; "" lets everyone ask. `hosts`: names and addresses by which
  // the server is asked, beside loopback's.
  Guard(std::string token, const std::vector<std::string>& hosts);

  // The answer to a request that may not pass; nothing if it may.
  std::optional<HttpResponse> refuse(const HttpRequest& request) const;
  // What every answer has: no sniffing, no framing, no referrer, a policy for content where the
  // answer has none of its own; and the cookie for a browser that came with the token in its
  // address.
  void add_standard_headers(const HttpRequest& request, HttpResponse& response) const;

  const std::string& token() const noexcept { return token_; }
  const std::string& cookie() const noexcept { return cookie_; }  // name of it
  // Whether a text may be a token: letters, digits and -_.~, which need no quoting anywhere.
  static bool usable(std::string_view token) noexcept;
  // 128 random bits in hexadecimal.
  static std::string random_token();
  // By which a server that listens there is reached: the address; if it is not loopback's, this
  // machine's name too, and for 0.0.0.0 and :: the addresses of all interfaces.
  static std::vector<std::string> hosts_of(const std::string& address);
  static bool is_loopback(const std::string& address) noexcept;

  // Whether a Host field names this server.
  bool host_is_ours(std::string_view host) const;

 private:
  bool knows_token(const HttpRequest& request) const;

  std::string token_, cookie_;
  std::vector<std::string> hosts_;  // in lower case, IPv6 in brackets
};

}  // namespace genscope::serve

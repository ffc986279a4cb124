// Who may ask. A page in another tab of the same browser can send requests to loopback: the token
// keeps it from being answered, the check of Host keeps a name that points to loopback (DNS
// rebinding) from being believed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "serve/http.h"

namespace genscope::serve {

class Guard {
 public:
  // `token`: that requests must have; "" lets everyone ask. `address`: where the server listens.
  Guard(std::string token, std::string address);

  // The answer to a request that may not pass; nothing if it may.
  std::optional<HttpResponse> refuse(const HttpRequest& request) const;
  // What every answer has: no sniffing, no framing, no referrer, a policy for content; and the
  // cookie for a browser that came with the token in its address.
  void dress(const HttpRequest& request, HttpResponse& response) const;

  const std::string& token() const noexcept { return token_; }
  const std::string& cookie() const noexcept { return cookie_; }  // name of it
  // Whether a text may be a token: letters, digits and -_.~, which need no quoting anywhere.
  static bool usable(std::string_view token) noexcept;
  // 128 random bits in hexadecimal.
  static std::string random_token();

 private:
  bool knows_token(const HttpRequest& request) const;
  bool host_is_ours(std::string_view host) const;

  std::string token_, address_, cookie_;
};

}  // namespace genscope::serve

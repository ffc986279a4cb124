#include "serve/guard.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <stdexcept>

#include "base/checksum.h"
#include "base/text.h"

namespace genscope::serve {
namespace {

// Scripts and styles are in the page itself; it talks to this server only.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: "
    "blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Takes as long for a wrong token as for the right one.
bool same(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

std::string_view cookie_of(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const std::size_t end = std::min(header.find(';'), header.size());
    std::string_view part = header.substr(0, end);
    header.remove_prefix(std::min(header.size(), end + 1));
    while (part.starts_with(' ')) part.remove_prefix(1);
    if (part.starts_with(name) && part.substr(name.size()).starts_with('=')) {
      return part.substr(name.size() + 1);
    }
  }
  return "";
}

std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const bool inside = host.ends_with(']');  // of an IPv6 address
  return inside || colon == std::string_view::npos ? host : host.substr(0, colon);
}

}  // namespace

Guard::Guard(std::string token, std::string address)
    : token_(std::move(token)),
      address_(std::move(address)),
      // A browser's cookies are of a host, whatever the port: two servers must not share one.
      cookie_(fmt::format("genscope_{:08x}",
                          base::checksum(token_.data(), token_.size()) & 0xffff'ffff)) {}

bool Guard::usable(std::string_view token) noexcept {
  return !token.empty() && token.size() <= 256 &&
         std::all_of(token.begin(), token.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '-' || c == '_' || c == '.' || c == '~';
         });
}

std::string Guard::random_token() {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = getrandom(bytes.data() + got, bytes.size() - got, 0);
    if (n > 0) {
      got += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      throw std::runtime_error("the kernel gives no random numbers");
    }
  }
  return base::hex(bytes);
}

bool Guard::knows_token(const HttpRequest& request) const {
  if (token_.empty()) return true;
  if (const auto given = request.query.find("token"); given != request.query.end()) {
    return same(given->second, token_);
  }
  constexpr std::string_view kBearer = "Bearer ";
  if (const std::string& given = request.header("authorization"); given.starts_with(kBearer)) {
    return same(std::string_view(given).substr(kBearer.size()), token_);
  }
  return same(cookie_of(request.header("cookie"), cookie_), token_);
}

bool Guard::host_is_ours(std::string_view host) const {
  const std::string_view name = without_port(host);
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]" || name == address_ ||
         name == "[" + address_ + "]";
}

std::optional<HttpResponse> Guard::refuse(const HttpRequest& request) const {
  // Behind another address (0.0.0.0) the names by which it is reached are not known: the token
  // alone has to do.
  const bool any = address_ == "0.0.0.0" || address_ == "::";
  if (!any && !host_is_ours(request.header("host"))) {
    return HttpResponse{.status = 421, .body = "this server does not answer for that host name\n"};
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return HttpResponse{
        .status = 405, .body = "only GET and HEAD\n", .headers = {{"Allow", "GET, HEAD"}}};
  }
  if (request.path == "/healthz" || knows_token(request)) return std::nullopt;
  return HttpResponse{.status = 401,
                      .body =
                          "the token is missing or wrong; open the address that genscope "
                          "printed when it started\n",
                      .headers = {{"WWW-Authenticate", "Bearer"}}};
}

void Guard::dress(const HttpRequest& request, HttpResponse& response) const {
  for (const auto& header : std::initializer_list<std::pair<std::string, std::string>>{
           {"X-Content-Type-Options", "nosniff"},
           {"X-Frame-Options", "DENY"},
           {"Referrer-Policy", "no-referrer"},
           {"Cross-Origin-Resource-Policy", "same-origin"},
           {"Cross-Origin-Opener-Policy", "same-origin"},
           {"Content-Security-Policy", kPolicy},
           {"Cache-Control", "no-store"}}) {
    response.headers.push_back(header);
  }
  if (token_.empty() || !request.query.contains("token") || response.status >= 400) return;
  response.headers.emplace_back("Set-Cookie",
                                cookie_ + "=" + token_ + "; Path=/; HttpOnly; SameSite=Strict");
}

}  // namespace genscope::serve

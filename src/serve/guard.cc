#include "serve/guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <stdexcept>

#include "base/checksum.h"
#include "base/text.h"
#include "serve/url.h"

namespace genscope::serve {
namespace {

// For all but pages, which bring a policy with the hashes of their script and style.
constexpr const char* kNothing =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Takes as long for a wrong token as for the right one.
bool same(std::string_view given, std::string_view token) noexcept {
  unsigned difference = given.size() != token.size();
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char c = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned char>(c) ^ static_cast<unsigned char>(token[i]);
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

// "name:80" -> "name"; what is no name and port stays as it is, and so is nobody's.
std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || host.ends_with(']')) return host;
  const std::string_view port = host.substr(colon + 1);
  const bool number =
      port.size() <= 5 && port.find_first_not_of("0123456789") == std::string_view::npos;
  return number ? host.substr(0, colon) : host;
}

std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address != nullptr && address->sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  } else if (address != nullptr && address->sa_family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  }
  if (bytes == nullptr) return "";
  inet_ntop(address->sa_family, bytes, text.data(), text.size());
  return text.data();
}

void add_interfaces(std::vector<std::string>& hosts) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return;
  for (const ifaddrs* it = first; it != nullptr; it = it->ifa_next) {
    if (std::string text = address_text(it->ifa_addr); !text.empty()) {
      hosts.push_back(std::move(text));
    }
  }
  freeifaddrs(first);
}

}  // namespace

Guard::Guard(std::string token, const std::vector<std::string>& hosts)
    : token_(std::move(token)),
      // A browser's cookies are of a host, whatever the port: two servers must not share one.
      cookie_(fmt::format("genscope_{:08x}",
                          base::checksum(token_.data(), token_.size()) & 0xffff'ffff)),
      hosts_({"localhost", "127.0.0.1", "[::1]"}) {
  for (const std::string& host : hosts) {
    const bool six = host.find(':') != std::string::npos && !host.starts_with('[');
    hosts_.push_back(lower_case(six ? "[" + host + "]" : host));
  }
}

bool Guard::is_loopback(const std::string& address) noexcept {
  in6_addr six{};
  if (inet_pton(AF_INET6, address.c_str(), &six) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
  }
  in_addr four{};
  return inet_pton(AF_INET, address.c_str(), &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}

std::vector<std::string> Guard::hosts_of(const std::string& address) {
  std::vector<std::string> hosts = {address};
  if (is_loopback(address)) return hosts;
  if (address == "0.0.0.0" || address == "::") add_interfaces(hosts);
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0') {
    const std::string name = host.data();
    const std::string first = name.substr(0, name.find('.'));
    for (const std::string& known : {name, first, first + ".local"}) hosts.push_back(known);
  }
  return hosts;
}

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
  const std::string name = lower_case(without_port(host));
  return std::find(hosts_.begin(), hosts_.end(), name) != hosts_.end();
}

std::optional<HttpResponse> Guard::refuse(const HttpRequest& request) const {
  if (!host_is_ours(request.header("host"))) {
    return HttpResponse{.status = 421,
                        .body =
                            "this server does not answer for that host name; `genscope serve "
                            "--allow-host NAME` adds one\n"};
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return HttpResponse{
        .status = 405, .body = "only GET and HEAD\n", .headers = {{"Allow", "GET, HEAD"}}};
  }
  if (request.path == "/healthz" || knows_token(request)) return std::nullopt;
  HttpResponse refused{.status = 401,
                       .body =
                           "the token is missing or wrong; open the address that genscope "
                           "printed when it started\n",
                       .headers = {{"WWW-Authenticate", "Bearer"}}};
  // Who follows a link from another site (a terminal in a browser) comes without our cookie, even
  // if the answer before has just set it. Once the page loads itself, it is we who ask.
  if (request.header("sec-fetch-site") == "cross-site" &&
      request.header("sec-fetch-mode") == "navigate") {
    refused.type = "text/html; charset=utf-8";
    refused.body = "<!doctype html><meta http-equiv=refresh content=0><p>" + refused.body;
  }
  return refused;
}

void Guard::add_standard_headers(const HttpRequest& request, HttpResponse& response) const {
  for (const auto& header : std::initializer_list<std::pair<std::string, std::string>>{
           {"X-Content-Type-Options", "nosniff"},
           {"X-Frame-Options", "DENY"},
           {"Referrer-Policy", "no-referrer"},
           {"Cross-Origin-Resource-Policy", "same-origin"},
           {"Cross-Origin-Opener-Policy", "same-origin"},
           {"Content-Security-Policy", kNothing},
           {"Cache-Control", "no-store"}}) {
    const auto same_name = [&](const auto& other) { return other.first == header.first; };
    const auto& own = response.headers;
    if (std::none_of(own.begin(), own.end(), same_name)) response.headers.push_back(header);
  }
  if (token_.empty() || !request.query.contains("token") || response.status >= 400) return;
  response.headers.emplace_back("Set-Cookie",
                                cookie_ + "=" + token_ + "; Path=/; HttpOnly; SameSite=Strict");
}

}  // namespace genscope::serve

#include "serve/request.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <optional>
#include <utility>

#include "serve/url.h"

namespace genscope::serve {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

using HeaderParser = http::request_parser<http::empty_body>;

constexpr std::size_t kReadBytes = 4096;  // at a time

HttpResponse refusal_of(int status, const char* why) {
  return {.status = status, .body = std::string(why) + "\n"};
}

// What a header may not say, whatever is asked for (RFC 9112; RFC 9110 for the statuses).
std::optional<HttpResponse> refusal_of(const http::request<http::empty_body>& header) {
  const auto count = [&](http::field field) {
    const auto [first, last] = header.equal_range(field);
    return std::distance(first, last);
  };
  if (count(http::field::host) > 1) return refusal_of(400, "there are two Host fields");
  if (header.version() == 11 && count(http::field::host) == 0) {
    return refusal_of(400, "there is no Host field");
  }
  if (count(http::field::content_length) > 1) {
    return refusal_of(400, "there are two Content-Length fields");
  }
  if (header[http::field::content_length].find_first_not_of("0123456789") !=
      std::string_view::npos) {
    return refusal_of(400, "Content-Length is one number");
  }
  if (const auto coding = header.find(http::field::transfer_encoding); coding != header.end()) {
    if (header.version() == 10 || count(http::field::content_length) > 0) {
      return refusal_of(400, "Transfer-Encoding has no place here");
    }
    return beast::iequals(coding->value(), "chunked")
               ? refusal_of(411, "a body needs a Content-Length; better send none")
               : refusal_of(501, "this server takes no transfer coding");
  }
  if (count(http::field::expect) > 0) return refusal_of(417, "this server expects nothing");
  // Who offers HTTP/2 gets an answer in HTTP/1.1, as the standard has it; others mean what they
  // say.
  for (auto it = header.equal_range(http::field::upgrade); it.first != it.second; ++it.first) {
    if (!beast::iequals(it.first->value(), "h2c")) {
      return refusal_of(501, "this server speaks HTTP/1.1 only");
    }
  }
  return std::nullopt;
}

HttpResponse refusal_of(const boost::system::error_code& error) {
  if (error == http::error::header_limit) return refusal_of(431, "the header is too large");
  if (error == http::error::body_limit) return refusal_of(413, "the body is too large");
  return refusal_of(400, "this is not HTTP");
}

}  // namespace

struct RequestReader::Impl {
  Impl(std::uint32_t header, std::uint32_t body)
      : header_bytes(header), body_bytes(body), buffer(std::size_t{header} + body) {}

  State parse() {
    while (!parser->is_header_done()) {
      boost::system::error_code error;
      const std::size_t used = parser->put(buffer.data(), error);
      buffer.consume(used);
      header_used += used;
      const bool more = error == http::error::need_more;
      // Counted here, since the parser's own limit depends on the pieces in which a header comes.
      if (header_used + (more ? buffer.size() : 0) > header_bytes) {
        return refuse(refusal_of(http::error::header_limit));
      }
      if (more) return State::more;
      if (error) return refuse(refusal_of(error));
      if (!parser->is_header_done()) continue;
      if (std::optional<HttpResponse> refused = refusal_of(parser->get())) {
        return refuse(*std::move(refused));
      }
      body_left = parser->content_length().value_or(0);
    }
    const std::size_t here = std::min<std::uint64_t>(body_left, buffer.size());
    kept.append(static_cast<const char*>(buffer.data().data()), here);
    buffer.consume(here);
    body_left -= here;
    return body_left > 0 ? State::more : understand();
  }

  State understand() {
    const auto& header = parser->get();
    std::optional<Target> target = parse_target(std::string_view(header.target()));
    if (!target) return refuse(refusal_of(400, "the address is malformed"));
    request = {.method = std::string(header.method_string()),
               .path = std::move(target->path),
               .query = std::move(target->query),
               .headers = {},
               .body = std::exchange(kept, {})};
    for (const auto& field : header) {
      request.headers.emplace(lower_case(std::string_view(field.name_string())),
                              std::string(field.value()));
    }
    keep_alive = header.version() == 11 && parser->keep_alive();
    return State::request;
  }

  State refuse(HttpResponse why) {
    refusal = std::move(why);
    return State::refused;
  }

  const std::uint32_t header_bytes, body_bytes;
  beast::flat_buffer buffer;
  std::optional<HeaderParser> parser;
  std::size_t header_used = 0;
  std::uint64_t body_left = 0;
  bool begun = false, keep_alive = false;
  std::string kept;  // of the body
  HttpRequest request;
  HttpResponse refusal;
};

RequestReader::RequestReader(std::uint32_t header_bytes, std::uint32_t body_bytes)
    : impl_(std::make_unique<Impl>(header_bytes, body_bytes)) {}
RequestReader::~RequestReader() = default;

RequestReader::State RequestReader::next() {
  Impl& in = *impl_;
  in.parser.emplace();
  in.parser->header_limit(in.header_bytes + in.body_bytes + 1);
  in.parser->body_limit(in.body_bytes);
  in.header_used = 0;
  in.kept.clear();
  in.begun = in.buffer.size() > 0;
  if (in.begun) return in.parse();
  in.buffer.shrink_to_fit();  // many connections idle, few ask
  return State::more;
}

std::span<char> RequestReader::room() {
  beast::flat_buffer& buffer = impl_->buffer;
  const std::size_t most = std::min(kReadBytes, buffer.max_size() - buffer.size());
  const auto space = buffer.prepare(most);
  return {static_cast<char*>(space.data()), space.size()};
}

RequestReader::State RequestReader::take(std::size_t bytes) {
  impl_->buffer.commit(bytes);
  impl_->begun |= bytes > 0;
  return impl_->parse();
}

bool RequestReader::begun() const noexcept { return impl_->begun; }
HttpRequest& RequestReader::request() noexcept { return impl_->request; }
bool RequestReader::keep_alive() const noexcept { return impl_->keep_alive; }
const HttpResponse& RequestReader::refusal() const noexcept { return impl_->refusal; }

}  // namespace genscope::serve

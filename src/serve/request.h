// Bytes of a connection become requests, or a reason to refuse. No socket in it: http.cc feeds it
// from one, a fuzzer from a file.
//
// What we do not need is refused as soon as the header is whole, and nothing is read on: bodies
// without a length (chunked, with their extensions and trailers), expectations, other protocols.
// What is kept of a request is bounded by `header_bytes + body_bytes`, whatever comes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "serve/http.h"

namespace genscope::serve {

class RequestReader {
 public:
  RequestReader(std::uint32_t header_bytes, std::uint32_t body_bytes);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  enum class State : std::uint8_t {
    more,     // bytes are missing: read some into room(), then take()
    request,  // request() is whole
    refused,  // refusal() says why; the connection is to be closed
  };
  // Begins the next request, with what was read beyond the last one.
  State next();
  std::span<char> room();  // not empty while the state is `more`
  State take(std::size_t bytes);

  bool begun() const noexcept;  // some of the request is here
  HttpRequest& request() noexcept;
  bool keep_alive() const noexcept;  // the client may ask again
  const HttpResponse& refusal() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace genscope::serve

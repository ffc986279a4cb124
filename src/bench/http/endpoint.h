// An endpoint: how a request is made for it, and what its answers mean.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <genscope/bench.h>

#include "bench/http/client.h"

namespace genscope::bench {

// What an answer is, beyond its status.
enum class AnswerKind { json, images, chat, comfy };

// Everything that is particular to a kind of endpoint is in this table.
struct EndpointKind {
  std::string_view name;
  std::string_view path_end;  // by which it is known
  AnswerKind reading = AnswerKind::json;
  std::string_view body;        // of a request, where the user gives none
  std::string_view ok_pointer;  // to what a good answer holds; "a|b": one of them
};
std::span<const EndpointKind> endpoint_kinds() noexcept;

class Endpoint {
 public:
  // Checks what can be checked before a request is made: `values` are those that will be known.
  static Result<Endpoint> open(HttpOptions options, const Params& params);

  const HttpOptions& options() const noexcept { return options_; }
  const EndpointKind& kind() const noexcept { return *kind_; }
  const Address& address() const noexcept { return address_; }
  Result<Outgoing> request(const Request& request) const;

 private:
  HttpOptions options_;
  const EndpointKind* kind_ = nullptr;
  Address address_;
};

// What an answer is worth. Never throws.
struct Outcome {
  std::map<std::string, double> metrics;  // but latency_s, which is the asker's
  std::vector<std::string> images;        // their bytes, with `keep_images`
  std::optional<Failure> failure;
};
Outcome judge(const Endpoint& endpoint, const Reply& reply, bool keep_images);

// Asks, and for comfyui asks on until the picture is there: `done` gets one Reply from the first
// byte sent to the end. The end is looked for every 2 % of the time that has passed, at least every
// second and at most every 10 ms; `poll_error_s` is how late it was seen, at most.
void converse(Client& client, const Endpoint& endpoint, Outgoing first, std::int64_t deadline_ns,
              Client::Answered done);

}  // namespace genscope::bench

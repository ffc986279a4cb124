// ComfyUI answers POST /prompt at once with an id; the picture is there when /history/ID has it.
// Its end is thus known only between two looks: the interval grows with the time that has passed,
// so that the error stays a small share of what is measured and the server is hardly asked.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "bench/http/endpoint.h"

namespace genscope::bench {
namespace {

constexpr std::int64_t kLookAtLeast = 10'000'000;  // ns
constexpr std::int64_t kLookAtMost = 1'000'000'000;
constexpr std::int64_t kLookShare = 50;  // of the time that has passed

struct ComfyTalk : std::enable_shared_from_this<ComfyTalk> {
  ComfyTalk(Client& of, std::int64_t deadline, Client::Answered then)
      : client(of), deadline_ns(deadline), done(std::move(then)) {}

  void accepted(Reply reply) {
    first = std::move(reply);
    const auto answer = nlohmann::json::parse(first.body, nullptr, false);
    const bool good = !first.failure && first.status >= 200 && first.status < 300;
    if (!good || !answer.is_object() || !answer.contains("prompt_id") ||
        !answer["prompt_id"].is_string()) {
      return done(std::move(first));
    }
    for (const char c : answer["prompt_id"].get<std::string>()) {
      const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
      if (plain) id += c;
    }
    not_yet_ns = first.done_ns;
    wait();
  }

  void wait() {
    const std::int64_t now = base::monotonic_ns();
    const std::int64_t pause =
        std::clamp((now - first.began_ns) / kLookShare, kLookAtLeast, kLookAtMost);
    client.at(std::min(now + pause, deadline_ns), [self = shared_from_this()] { self->look(); });
  }

  void look() {
    const std::int64_t asked = base::monotonic_ns();
    if (asked >= deadline_ns) {
      return finish(
          Failure{FailureClass::timeout, "the picture was not there within the time limit"}, asked);
    }
    Outgoing request;
    request.target = prefix + "/history/" + id;
    request.headers = headers;
    client.ask(std::move(request), deadline_ns, [self = shared_from_this(), asked](Reply reply) {
      self->looked(std::move(reply), asked);
    });
  }

  void looked(Reply reply, std::int64_t asked) {
    const bool good = !reply.failure && reply.status == 200;
    const auto history = nlohmann::json::parse(reply.body, nullptr, false);
    if (good && history.is_object() && !history.contains(id)) {
      not_yet_ns = asked;  // it was not done when we asked
      return wait();
    }
    first.status = reply.status;
    first.body = std::move(reply.body);
    first.bytes = reply.bytes;
    if (!reply.failure) {
      first.poll_error_s = static_cast<double>(reply.done_ns - not_yet_ns) * 1e-9;
    }
    finish(std::move(reply.failure), reply.done_ns);
  }

  void finish(std::optional<Failure> failure, std::int64_t at_ns) {
    first.failure = std::move(failure);
    first.done_ns = at_ns;
    done(std::move(first));
  }

  Client& client;
  std::int64_t deadline_ns;
  Client::Answered done;
  Reply first;
  std::string id, prefix;
  std::vector<std::pair<std::string, std::string>> headers;
  std::int64_t not_yet_ns = 0;
};

}  // namespace

void converse(Client& client, const Endpoint& endpoint, Outgoing first, std::int64_t deadline_ns,
              Client::Answered done) {
  if (endpoint.kind().reading != AnswerKind::comfy) {
    return client.ask(std::move(first), deadline_ns, std::move(done));
  }
  const auto talk = std::make_shared<ComfyTalk>(client, deadline_ns, std::move(done));
  const std::string path = first.target.substr(0, first.target.find('?'));
  talk->prefix = path.substr(0, path.rfind('/'));
  for (const auto& header : first.headers) {
    if (header.first != "Content-Type") talk->headers.push_back(header);
  }
  client.ask(std::move(first), deadline_ns,
             [talk](Reply reply) { talk->accepted(std::move(reply)); });
}

}  // namespace genscope::bench

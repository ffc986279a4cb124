// A server is ready when its URL answers 200 to 299, or when its port takes connections. Before it
// is started the port must be free, or another server would be measured in its place.
#include "bench/http/running_server.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "bench/http/endpoint.h"
#include "bench/run/expand.h"

namespace genscope::bench {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{20};
constexpr std::int64_t kOneLook = 2'000'000'000;  // ns

std::string with_port(std::string text, std::uint16_t port) {
  constexpr std::string_view kMark = "{port}";
  const std::string number = std::to_string(port);
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at)) {
    text.replace(at, kMark.size(), number);
  }
  return text;
}

bool uses_port(const ServerOptions& options) {
  return options.command.find("{port}") != std::string::npos ||
         options.http.url.find("{port}") != std::string::npos;
}

bool answers_well(const Address& address, const HttpOptions& http) {
  ClientOptions options = client_options(http);
  options.connections = 1;
  Result<std::unique_ptr<Client>> client = Client::open(address, options);
  if (!client) return false;
  bool good = false;
  Outgoing request;
  request.target = address.target;
  (*client)->ask(std::move(request), base::monotonic_ns() + kOneLook, [&](const Reply& reply) {
    good = !reply.failure && reply.status >= 200 && reply.status < 300;
  });
  (*client)->run();
  return good;
}

Failure not_started(std::string why) { return {FailureClass::startup_failed, std::move(why)}; }

std::optional<Failure> wait_until_ready(ServerProcess& server, const Address& ready,
                                        const ServerOptions& options) {
  const bool by_url = !options.ready_url.empty();
  const double timeout_s = options.startup_timeout_s;
  const std::int64_t until = base::monotonic_ns() + static_cast<std::int64_t>(timeout_s * 1e9);
  while (base::monotonic_ns() < until) {
    if (cancelled()) return Failure{FailureClass::cancelled, "cancelled while it started"};
    if (const std::optional<Failure> ended = server.ended()) {
      return not_started("before it was ready, " + ended->detail);
    }
    if (accepts_connections(ready, 1000) && (!by_url || answers_well(ready, options.http)))
      return std::nullopt;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  const std::string lines = server.last_lines();
  return not_started(fmt::format("the server was not ready within {} s{}{}", timeout_s,
                                 lines.empty() ? ", and printed nothing" : "; its last lines:\n",
                                 lines));
}

}  // namespace

std::unique_ptr<RunningServer> RunningServer::start(const ServerOptions& options,
                                                    const Params& params, Failure& failure) {
  const auto fail = [&](std::string why) {
    failure = not_started(std::move(why));
    return nullptr;
  };
  std::uint16_t port = 0;
  if (uses_port(options)) {
    const Result<std::uint16_t> found = free_port();
    if (!found) return fail(found.error().message);
    port = *found;
  }
  std::unique_ptr<RunningServer> server(new RunningServer);
  server->grace_s_ = options.stop_grace_s;
  server->http_ = options.http;
  server->http_.url = with_port(options.http.url, port);
  const Result<Endpoint> endpoint = Endpoint::open(server->http_, params);
  if (!endpoint) return fail(endpoint.error().message);
  Address ready = endpoint->address();
  if (accepts_connections(ready, 1000)) {
    return fail(
        fmt::format("port {} of {} is in use already; end that server, or write {{port}} in "
                    "the command and the URL to have a free one",
                    ready.port, ready.host));
  }
  if (!options.ready_url.empty()) {
    Result<Address> given = parse_address(with_port(options.ready_url, port));
    if (!given) return fail(given.error().message);
    ready = *std::move(given);
  }
  std::vector<std::pair<std::string, std::string>> env = options.env;
  for (auto& [variable, value] : env) value = expand(with_port(value, port), params);
  Result<std::unique_ptr<ServerProcess>> process =
      ServerProcess::start(expand(with_port(options.command, port), params), options.cwd, env);
  if (!process) return fail(process.error().message);
  std::optional<Failure> failed = wait_until_ready(**process, ready, options);
  if (failed) {
    failure = *std::move(failed);
    (*process)->stop(options.stop_grace_s);
    return nullptr;
  }
  server->process_ = *std::move(process);
  return server;
}

}  // namespace genscope::bench

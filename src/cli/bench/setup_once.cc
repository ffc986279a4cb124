#include "cli/bench/setup_once.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "bench/http/server_process.h"

namespace genscope::cli::bench {
namespace {

constexpr auto kAskAgain = std::chrono::milliseconds(50);
constexpr double kStopGraceSeconds = 10;

bool answers(const std::string& url) {
  core::HttpOptions options;
  options.url = url;
  options.endpoint = "json";
  options.method = "GET";
  options.timeout_s = 5;
  const auto subject = core::http_subject(options);
  return !subject->begin({}) && !subject->measure({}).failure;
}

bool is_ready(const MeasureFlags::SetupOnce& what) {
  if (what.ready_port) {
    core::Address address;
    address.host = "127.0.0.1";
    address.port = static_cast<std::uint16_t>(*what.ready_port);
    if (!core::accepts_connections(address, 1000)) return false;
  }
  if (!what.ready_file.empty() && ::access(what.ready_file.c_str(), F_OK) != 0) return false;
  return what.ready_url.empty() || answers(what.ready_url);
}

Error not_ready(const MeasureFlags::SetupOnce& what, const std::string& why,
                const core::ServerProcess& process) {
  const std::string lines = process.last_lines();
  return {ErrorCode::io, fmt::format("--setup-once {}: {}{}{}", what.command, why,
                                     lines.empty() ? "" : "; it said:\n", lines)};
}

}  // namespace

struct SetupOnce::Impl {
  std::unique_ptr<core::ServerProcess> process;
};

SetupOnce::SetupOnce() : impl_(std::make_unique<Impl>()) {}
SetupOnce::~SetupOnce() {
  if (impl_->process) impl_->process->stop(kStopGraceSeconds);
}

Result<std::unique_ptr<SetupOnce>> SetupOnce::start(const MeasureFlags::SetupOnce& what) {
  std::unique_ptr<SetupOnce> setup(new SetupOnce);
  if (what.command.empty()) return setup;
  auto process = core::ServerProcess::start(what.command, "", {});
  if (!process) return process.error();
  setup->impl_->process = std::move(*process);
  core::ServerProcess& server = *setup->impl_->process;
  const std::int64_t until = base::monotonic_ns() + static_cast<std::int64_t>(what.timeout_s * 1e9);
  while (!is_ready(what)) {
    if (core::cancelled()) return not_ready(what, "interrupted", server);
    if (const auto ended = server.ended()) {
      return not_ready(what, "it ended before it was ready: " + ended->detail, server);
    }
    if (base::monotonic_ns() > until) {
      return not_ready(what, fmt::format("not ready after {:g} s", what.timeout_s), server);
    }
    std::this_thread::sleep_for(kAskAgain);
  }
  return setup;
}

}  // namespace genscope::cli::bench

// A server by ServerOptions, started and ready.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <genscope/bench.h>

#include "bench/http/server_process.h"

namespace genscope::bench {

class RunningServer {
 public:
  // Waits until it is ready, at most startup_timeout_s, or cancel(). Null: `failure` says why.
  static std::unique_ptr<RunningServer> start(const ServerOptions& options, const Params& params,
                                              Failure& failure);
  ~RunningServer() {
    if (process_) process_->stop(grace_s_);
  }

  const HttpOptions& http() const noexcept { return http_; }  // with the port put in
  std::optional<Failure> ended() { return process_->ended(); }

 private:
  RunningServer() = default;

  HttpOptions http_;
  double grace_s_ = 0;
  std::unique_ptr<ServerProcess> process_;
};

}  // namespace genscope::bench

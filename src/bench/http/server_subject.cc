#include <chrono>
#include <thread>

#include "bench/http/running_server.h"

namespace genscope::bench {
namespace {

constexpr std::chrono::milliseconds kMayBeEnding{20};

class ServerSubject final : public Subject {
 public:
  explicit ServerSubject(ServerOptions options) : options_(std::move(options)) {}

  std::optional<Failure> begin(const Params& params) override {
    if (server_ && params == params_ && !server_->ended()) return http_->begin(params);
    stop();
    params_ = params;
    Failure failure;
    server_ = RunningServer::start(options_, params, failure);
    if (!server_) return failure;
    http_ = http_subject(server_->http());
    return http_->begin(params);
  }

  void end() override {
    if (http_) http_->end();
    if (!options_.once) stop();
  }

  bool starts_afresh() const override { return !options_.once; }

  Sample measure(const Request& request) override {
    if (!server_) {
      if (std::optional<Failure> failed = begin(request.params)) {
        Sample sample;
        sample.iteration = request.iteration;
        sample.failure = std::move(failed);
        return sample;
      }
    }
    Sample sample = http_->measure(request);
    if (sample.failure && sample.failure->kind == FailureClass::http_error) {
      std::this_thread::sleep_for(kMayBeEnding);
      if (std::optional<Failure> ended = server_->ended()) sample.failure = std::move(ended);
    }
    return sample;
  }

 private:
  void stop() {
    http_.reset();
    server_.reset();
  }

  ServerOptions options_;
  Params params_;
  std::unique_ptr<RunningServer> server_;
  std::unique_ptr<Subject> http_;
};

}  // namespace

std::unique_ptr<Subject> server_subject(ServerOptions options) {
  return std::make_unique<ServerSubject>(std::move(options));
}

}  // namespace genscope::bench

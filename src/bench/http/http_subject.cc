#include <fmt/format.h>

#include <exception>

#include "base/clock.h"
#include "base/file.h"
#include "bench/http/endpoint.h"

namespace genscope::bench {
namespace {

constexpr std::int64_t kCancelLook = 50'000'000;  // ns between looks

std::string image_ending(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG")) return ".png";
  if (bytes.starts_with("\xFF\xD8")) return ".jpg";
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) return ".webp";
  return ".bin";
}

class HttpSubject final : public Subject {
 public:
  explicit HttpSubject(HttpOptions options) : options_(std::move(options)) {}

  std::optional<Failure> begin(const Params& params) override {
    client_.reset();
    endpoint_.reset();
    Result<Endpoint> endpoint = Endpoint::open(options_, params);
    if (!endpoint) return Failure{FailureClass::startup_failed, endpoint.error().message};
    Result<std::unique_ptr<Client>> client =
        Client::open(endpoint->address(), client_options(options_));
    if (!client) return Failure{FailureClass::startup_failed, client.error().message};
    endpoint_ = *std::move(endpoint);
    client_ = *std::move(client);
    return std::nullopt;
  }
  void end() override { client_.reset(); }

  Sample measure(const Request& request) override {
    Sample sample;
    sample.iteration = request.iteration;
    sample.prompt = request.prompt;
    sample.seed = request.seed;
    sample.started_ns = base::monotonic_ns();
    if (!client_) {
      if (std::optional<Failure> failed = begin(request.params)) {
        sample.failure = std::move(failed);
        return sample;
      }
    }
    try {
      ask(request, sample);
    } catch (const std::exception& error) {
      sample.failure = Failure{FailureClass::bad_output, error.what()};
    }
    return sample;
  }

 private:
  void ask(const Request& request, Sample& sample) {
    Result<Outgoing> outgoing = endpoint_->request(request);
    if (!outgoing) {
      sample.failure = Failure{FailureClass::startup_failed, outgoing.error().message};
      return;
    }
    const double limit_s = request.timeout_s.value_or(options_.timeout_s);
    std::optional<Reply> reply;
    const std::int64_t deadline = base::monotonic_ns() + static_cast<std::int64_t>(limit_s * 1e9);
    converse(*client_, *endpoint_, *std::move(outgoing), deadline, [&](Reply got) {
      reply = std::move(got);
      client_->stop();
    });
    watch_for_cancel();
    client_->run();
    if (!reply) {
      sample.failure = Failure{FailureClass::http_error, "the request was not answered"};
      return;
    }
    sample.started_ns = reply->began_ns;
    Outcome outcome = judge(*endpoint_, *reply, !options_.outputs.empty() && !request.warmup);
    sample.metrics = std::move(outcome.metrics);
    sample.failure = std::move(outcome.failure);
    if (sample.failure) return;
    sample.metrics["latency_s"] = static_cast<double>(reply->done_ns - reply->began_ns) * 1e-9;
    keep(outcome.images, sample);
  }

  // A look that is left over when the answer comes is harmless in a later request.
  void watch_for_cancel() {
    if (cancelled()) return client_->cancel();
    client_->at(base::monotonic_ns() + kCancelLook, [this] { watch_for_cancel(); });
  }

  // Files are numbered through: the same prompt may be asked again.
  void keep(const std::vector<std::string>& images, Sample& sample) {
    for (const std::string& bytes : images) {
      const std::string path =
          fmt::format("{}/answer-{:06}{}", options_.outputs, ++kept_, image_ending(bytes));
      Status done = base::make_directories(options_.outputs);
      if (done) done = base::write_file(path, bytes);
      if (done) {
        sample.outputs.push_back(path);
      } else {
        sample.flags.push_back("output_not_kept");
      }
    }
  }

  HttpOptions options_;
  std::optional<Endpoint> endpoint_;
  std::unique_ptr<Client> client_;
  std::uint64_t kept_ = 0;
};

}  // namespace

std::unique_ptr<Subject> http_subject(HttpOptions options) {
  return std::make_unique<HttpSubject>(std::move(options));
}

}  // namespace genscope::bench

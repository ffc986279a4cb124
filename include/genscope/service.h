// A generation service over HTTP: you bring the engine, the rest is here.
//
//   struct Engine : genscope::ServiceEngine {
//     Answers run(Asks asks) override { return pictures_of(asks); }      // one for each request
//   };
//   genscope::Session session{"service"};
//   return genscope::serve_until_signal(
//       {.models = {{"sdxl", 7 * kGiB, [] { return std::make_unique<Engine>("sdxl"); }}},
//        .fields = {field("prompt"), field("seed", 0), field("steps", 20, 1, 100)},
//        .alike = {"steps"},
//        .type = "image/png"});
//
//   POST /generate   {"prompt": "a red cat", "seed": 7}; besides your fields: "model", "priority"
//   (a
//                    class), "deadline" (seconds), "tenant"
//   GET /metrics     for Prometheus       GET /stats   the same as JSON       GET /healthz
//
// A request is refused with 503 and Retry-After if it would end after its deadline or too many
// wait; else it waits in its class. Requests that are alike share a run where that is faster. Equal
// ones are made once, and kept. Models are loaded when they are asked for and leave when room is
// needed. A client that leaves takes its request out of the queue, or stops it at the engine's next
// look.
//
// Place in the flow: over optimize.h, which decides, and monitor.h. While a run is
// recorded, each request is a span of kind request with stages below it: "queue" (for its turn),
// "load" (for its model), "batch" (for others like it and for the device), "run".
//
// Threads: one for HTTP, one that calls the engines, those of the model manager. run() is called by
// one thread at a time. Everything is bounded: bytes of a request, connections, requests that wait.
//
// It listens on loopback alone and knows no users: put a proxy before it that does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <genscope/error.h>
#include <genscope/optimize/admission.h>
#include <genscope/optimize/retry.h>

namespace genscope {

// --- what a request may say

// A text, a whole number or a number; what the default is decides which.
using ServiceValue = std::variant<std::string, std::int64_t, double>;

struct ServiceField {
  std::string name;
  ServiceValue otherwise;  // if the request does not say
  bool needed = false;     // it has to say
  double least = -9e15, most = 9e15;
  std::size_t most_bytes = 16u << 10;  // of a text
};
ServiceField field(std::string name);                         // a text that is needed
ServiceField field(std::string name, const char* otherwise);  // a text
ServiceField field(std::string name, std::int64_t otherwise, std::int64_t least = 0,
                   std::int64_t most = std::int64_t{1} << 53);
inline ServiceField field(std::string name, int otherwise, std::int64_t least = 0,
                          std::int64_t most = std::int64_t{1} << 53) {
  return field(std::move(name), std::int64_t{otherwise}, least, most);
}
ServiceField field(std::string name, double otherwise, double least, double most);

// A request that was read. Asking for a field that the service does not have, or as another type,
// aborts.
class ServiceAsk {
 public:
  const std::string& text(std::string_view field) const;
  std::int64_t integer(std::string_view field) const;
  double number(std::string_view field) const;

  std::string model, priority, tenant;
  double deadline_seconds = 0;
  // Nobody waits for it any more: look at it between steps. Its answer is thrown away.
  std::stop_token stop;
  std::vector<std::pair<std::string, ServiceValue>> values;  // in the order of the fields
};

// --- what makes the answers

class ServiceEngine {
 public:
  using Asks = std::span<const ServiceAsk* const>;
  using Answers = optimize::Tried<std::vector<std::string>>;
  virtual ~ServiceEngine() = default;
  // The bytes of one answer for each request, in their order. All are of one model and equal in
  // the fields of ServiceOptions::alike. If it fails or throws, each half is tried again.
  virtual Answers run(Asks asks) = 0;
};

struct ServiceModel {
  std::string name;
  std::uint64_t bytes = 0;  // that it takes; 0: not known
  std::function<Result<std::unique_ptr<ServiceEngine>>()> load = {};
};

struct ServiceOptions {
  std::string name = "service";
  std::vector<ServiceModel> models =
      {};                          // the first is the one that a request means if it says none
  std::uint64_t budget_bytes = 0;  // for all models; 0: what they take together
  std::vector<ServiceField> fields = {};
  std::vector<std::string> alike = {};                 // fields that are equal within a run
  std::function<double(const ServiceAsk&)> cost = {};  // of a request; empty: 1
  std::string type = "application/octet-stream";       // of the answers
  std::vector<optimize::AdmissionClass> classes = {{"interactive", 64}, {"bulk", 256}};
  std::size_t batch = 4;        // requests in a run, at most; 1: each alone
  std::size_t concurrency = 0;  // requests that hold a model at once; 0: as `batch`
  double slo_seconds = 5;       // the deadline of a request that gives none
  std::uint64_t cache_bytes = std::uint64_t{64} << 20;  // of answers; 0: none is kept
  std::uint16_t port = 0;                               // 0: any that is free
  std::uint32_t body_bytes = 64u << 10;                 // of a request
  std::size_t requests = 1024;                          // that wait or run; over it 503
};

struct ServiceStats {
  std::uint64_t hits = 0;       // answered from the cache
  std::uint64_t shared = 0;     // joined an equal request that was under way
  std::uint64_t abandoned = 0;  // their client left before the answer
  std::uint64_t bad = 0;        // requests that could not be read
};

class Service {
 public:
  // Listens, and answers until drain() or destruction.
  static Result<std::unique_ptr<Service>> start(ServiceOptions options);
  virtual ~Service() = default;

  virtual std::uint16_t port() const noexcept = 0;
  virtual ServiceStats stats() const = 0;
  virtual std::string metrics() const = 0;  // what /metrics answers
  // Refuses what waits and what comes, and lets what runs end. False: a client has no answer,
  // because it was cut off after `seconds`, or because it left.
  virtual bool drain(double seconds = 30) = 0;
};

// Starts the service, says on standard output where it is, and drains it on SIGTERM or SIGINT; a
// second signal ends the process as usual. Returns the exit code: 0, or 1 with a line on standard
// error. For main(): signals are the process's.
int serve_until_signal(ServiceOptions options);

}  // namespace genscope

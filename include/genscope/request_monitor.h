// Request monitor: times the requests of a service, and keeps what its operators ask for: how many,
// how long, how long in the queue, which errors, how many at once, and the share within the SLO.
//
//   genscope::RequestMonitor monitor({.slo_seconds = 5});
//   genscope::ServedRequest request = monitor.enqueue("/generate");
//   request.started();                       // it left the queue
//   ...
//   request.first_byte();
//   request.finish(200);                     // or request.fail("timeout")
//
// Place in the flow: over record.h. A request is a detached span of kind request, its wait a stage
// "queue" below it. About once a second, whoever ends a request writes the figures as counters
// ("request/requests_finished", docs/metrics.md), which `genscope serve` shows under /metrics;
// prometheus_text() is for a server of one's own.
//
// Threads: a RequestMonitor may be used from any thread, a ServedRequest by one at a time. Ending a
// request takes one short lock. Memory is bounded by the options.
//
// Failure: nothing here fails or throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/generation_monitor.h>

namespace genscope {

namespace monitor {
struct RequestState;
class RequestHub;
}  // namespace monitor

struct RequestMonitorOptions {
  std::string name = "request";    // of its counters and Prometheus labels; one for each service
  double slo_seconds = 5.0;        // a request that takes longer is outside its SLO
  std::size_t window = 1000;       // last requests that percentiles and shares are of
  std::size_t error_classes = 32;  // further ones are counted together as "other"
  double publish_seconds = 1.0;    // between two writes of the counters; 0: never
  // Nanoseconds that never go back, for tests. Null: the fastest clock that can be trusted.
  std::int64_t (*clock)() noexcept = nullptr;
};

// A request that ended. Times in seconds, from its begin.
struct RequestRecord {
  std::uint64_t id = 0;  // counts up within the monitor, from 1
  std::string route;
  double total_seconds = 0;
  std::optional<double> queue_seconds;       // absent: it never waited in a queue
  std::optional<double> first_byte_seconds;  // absent: it sent none, or did not say
  std::optional<int> http_status;
  std::string error_class;          // "5xx", "timeout"; empty: it went well
  bool client_error = false;        // 4xx: an error, but in no share of the SLO
  std::uint64_t generation_id = 0;  // of the generation that it waited for; 0: none
  std::optional<double> generation_seconds, generation_score;
};

// Of the last requests. Quantiles: linear (statistics.h).
struct LatencyFigures {
  std::uint64_t count = 0;
  std::optional<double> mean, min, max, p50, p90, p95, p99;
};

struct RequestStats {
  std::uint64_t begun = 0, finished = 0, failed = 0;  // since the monitor was made
  std::uint64_t in_flight = 0, in_flight_peak = 0, waiting = 0;
  std::uint64_t window = 0;                // requests that the next figures are of
  LatencyFigures total;                    // of those that went well
  LatencyFigures queue_wait, first_byte;   // of those that had one
  LatencyFigures generation;               // of those that joined one
  std::optional<double> generation_share;  // of the time of those: in the generation
  std::vector<std::pair<std::string, std::uint64_t>>
      errors;  // by class, since the monitor was made
  // Ended per second. Of a monitor that is younger than the time, over its age; from 1 s on.
  std::optional<double> per_second_1m, per_second_5m, per_second_15m;
  double slo_seconds = 0;
  // Ended well and in time; client errors are in neither count.
  std::optional<double> slo_share, slo_share_lifetime;
};
std::string to_json(const RequestStats& stats);

// A request being served. Dropped without an end it counts as an error, "abandoned", or "exception"
// if one is on its way. A moved-from or ended one ignores everything.
class ServedRequest {
 public:
  ServedRequest() noexcept;
  ServedRequest(ServedRequest&& other) noexcept;
  ServedRequest& operator=(ServedRequest&& other) noexcept;
  ~ServedRequest();

  void started() noexcept;  // it left the queue
  // It had waited this long before it came here, as a proxy's header says. Its time here is apart.
  void waited(double seconds) noexcept;
  void first_byte() noexcept;  // of its answer; later calls do nothing
  // Settings of a generation for this request: its span goes below the request's.
  GenerationSettings generation(GenerationSettings settings = {}) const;
  void join(const GenerationMetrics& metrics) noexcept;  // the generation has ended

  // By HTTP status: from 400 on an error of class "4xx" or "5xx".
  RequestRecord finish(int http_status = 200);
  RequestRecord fail(std::string_view error_class);

  std::uint64_t id() const noexcept;        // 0 once it has ended
  std::uint64_t span_id() const noexcept;   // for Handle() of record.h; 0 while nothing is recorded
  double elapsed_seconds() const noexcept;  // 0 once it has ended
  bool running() const noexcept { return state_ != nullptr; }

 private:
  friend class RequestMonitor;
  ServedRequest(std::shared_ptr<monitor::RequestHub> hub,
                std::unique_ptr<monitor::RequestState> state) noexcept;
  RequestRecord end(std::optional<int> http_status, std::string error_class);

  std::shared_ptr<monitor::RequestHub> hub_;
  std::unique_ptr<monitor::RequestState> state_;
  int exceptions_ = 0;
};

// A handle of shared state: copies are the same monitor.
class RequestMonitor {
 public:
  explicit RequestMonitor(RequestMonitorOptions options = {});
  ~RequestMonitor();
  RequestMonitor(const RequestMonitor&);
  RequestMonitor& operator=(const RequestMonitor&);

  // A request that is served at once, and one that waits for its turn first. `route` is a pattern,
  // not a path with ids in it: it becomes the name of the span.
  ServedRequest begin(std::string_view route);
  ServedRequest enqueue(std::string_view route);

  RequestStats stats() const;
  std::vector<RequestRecord> recent() const;  // the window, oldest first
  // Text format 0.0.4, with the names of docs/metrics.md.
  std::string prometheus_text() const;
  // What a middleware adds to an answer, in seconds: X-Request-Time, of this request
  // so far, and X-Avg-Request-Time, of the window where there is any.
  std::vector<std::pair<std::string, std::string>> response_headers(
      const ServedRequest& request) const;

 private:
  ServedRequest open(std::string_view route, bool waits);
  std::shared_ptr<monitor::RequestHub> hub_;
};

}  // namespace genscope

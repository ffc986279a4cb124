// What the requests of one monitor share. One lock, taken when a request begins, leaves the queue
// and ends.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <genscope/monitor.h>
#include <genscope/record.h>

#include "monitor/generation/ring.h"
#include "monitor/generation/ticks.h"
#include "monitor/request/rates.h"

namespace genscope::monitor {

struct RequestState {
  std::int64_t begin = 0;
  Handle span, queue;
  bool waiting = false;
  RequestRecord record;
};

class RequestHub {
 public:
  explicit RequestHub(RequestMonitorOptions options);

  std::unique_ptr<RequestState> begin(std::string_view route, bool waits);
  void started(RequestState& state) noexcept;
  // Keeps and returns its record; now and then writes the counters.
  RequestRecord end(std::unique_ptr<RequestState> state) noexcept;

  RequestStats stats() const;
  std::vector<RequestRecord> recent() const;
  // stats().total.mean, for each answer: without a copy of the window.
  std::optional<double> mean_seconds() const;

  const RequestMonitorOptions options;
  const Ticks ticks;

 private:
  // Names of the counters, "<name>/<metric>".
  void publish() const noexcept;
  // In the window, and under its error; dropped without memory.
  void keep(const RequestRecord& record) noexcept;
  void count_error(const std::string& error_class);
  double age(std::int64_t now) const noexcept { return ticks.seconds(now - made_); }
  bool due(std::int64_t now) noexcept;

  const std::int64_t made_;
  mutable std::mutex mutex_;
  std::uint64_t begun_ = 0, finished_ = 0, failed_ = 0;
  std::uint64_t in_flight_ = 0, in_flight_peak_ = 0, waiting_ = 0;
  std::uint64_t judged_ = 0, in_time_ = 0;  // for the SLO
  Ring<RequestRecord> window_;
  Rates rates_;
  std::map<std::string, std::uint64_t, std::less<>> errors_;
  std::int64_t next_publish_;
};

// The figures as rows of docs/metrics.md: metric id and value; what is absent has no row.
std::vector<std::pair<std::string_view, double>> metric_values(const RequestStats& stats);

}  // namespace genscope::monitor

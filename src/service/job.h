// One generation, and everybody who waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <genscope/monitor.h>
#include <genscope/optimize/batch.h>
#include <genscope/optimize/cache.h>
#include <genscope/optimize/models.h>
#include <genscope/record.h>
#include <genscope/service.h>

#include "serve/http.h"

namespace genscope::service {

// A client. `leaving` goes outside the service's lock: it waits for its callback, which takes it.
struct Waiter {
  std::uint64_t number = 0;
  serve::HttpReply reply;
  ServedRequest request;
  bool joined = false;  // a job that was under way
  Handle shared = {};   // a stage of its request, if so
  std::unique_ptr<std::stop_callback<std::function<void()>>> leaving = {};
};

// Guarded by the service's lock, but for `ask`, `key`, `batch` and `cost`, which never change, and
// `lease`, which belongs to whoever has the job.
struct Job {
  enum class Where : std::uint8_t { queue, load, batch, run, ended };

  ServiceAsk ask;
  optimize::Key key;
  std::string batch;
  double cost = 1;
  std::int64_t deadline_ns = 0;

  Where where = Where::queue;
  std::uint64_t admission = 0;        // its number there
  std::optional<std::uint64_t> load;  // its number at the model manager, while it waits there
  optimize::ModelLease lease;
  std::stop_source stop;  // asked when the last waiter has left
  std::vector<Waiter> waiters;
  Handle parent;              // the request of the first waiter
  Handle stage;               // of `parent`: load, batch or run
  std::int64_t began_ns = 0;  // its run
};
using JobPointer = std::shared_ptr<Job>;

}  // namespace genscope::service

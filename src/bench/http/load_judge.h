// Answers that take long to look at (megabytes of base64) are looked at on a thread of their own,
// so that the schedule of requests does not wait.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bench/http/endpoint.h"

namespace genscope::bench {

class LoadJudge {
 public:
  explicit LoadJudge(const Endpoint& endpoint) : endpoint_(endpoint) {}
  ~LoadJudge() { finish(); }

  // False: it is small, or too much waits already; judge it yourself.
  bool take(std::size_t place, Reply& reply);
  // Waits for all; by the place that was given.
  std::vector<std::pair<std::size_t, Outcome>> finish();

 private:
  void work();

  const Endpoint& endpoint_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<std::size_t, Reply>> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool ending_ = false;
  std::vector<std::pair<std::size_t, Outcome>> judged_;
  std::thread thread_;
};

}  // namespace genscope::bench

// ThreadLogs: the log of each thread that tracks in one monitor.
//
// A thread finds its log in a list of its own, without a lock; the first time, the monitor gives it
// one that no thread uses any more, or a new one. So there are never more logs than threads at a
// time, however many come and go.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "compat/operations/log.h"

namespace genscope::compat::training {

class ThreadLogs {
 public:
  explicit ThreadLogs(std::shared_ptr<LogContext> context);

  // Of the calling thread. Throws std::bad_alloc.
  const std::shared_ptr<OperationLog>& mine();
  // All of them.
  std::vector<std::shared_ptr<OperationLog>> all() const;

 private:
  std::shared_ptr<OperationLog> adopt_or_make();

  const std::uint64_t serial_;  // of this object, never used again
  const std::shared_ptr<LogContext> context_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<OperationLog>> logs_;
};

}  // namespace genscope::compat::training

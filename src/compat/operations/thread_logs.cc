#include "compat/operations/thread_logs.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "base/thread_owned.h"

namespace genscope::compat::training {
namespace {

std::atomic<std::uint64_t> g_serial{0};

struct Entry {
  std::uint64_t serial;
  std::shared_ptr<OperationLog> log;
};
struct Entries {
  std::vector<Entry> all;
};

// Held by this list alone: its monitor is gone.
bool orphaned(const Entry& entry) { return entry.log.use_count() == 1; }

}  // namespace

ThreadLogs::ThreadLogs(std::shared_ptr<LogContext> context)
    : serial_(g_serial.fetch_add(1) + 1), context_(std::move(context)) {}

const std::shared_ptr<OperationLog>& ThreadLogs::mine() {
  Entries* const of_thread = base::ThreadOwned<Entries>::get();
  if (of_thread == nullptr) throw std::bad_alloc();
  std::vector<Entry>& entries = of_thread->all;
  for (const Entry& entry : entries) {
    if (entry.serial == serial_) return entry.log;
  }
  std::erase_if(entries, orphaned);
  entries.push_back({serial_, adopt_or_make()});
  return entries.back().log;
}

std::shared_ptr<OperationLog> ThreadLogs::adopt_or_make() {
  const std::lock_guard lock(mutex_);
  for (const auto& log : logs_) {
    // Only this list holds it, and only under the lock is it given away: nobody can take it now.
    if (log.use_count() == 1 && log->idle()) return log;
  }
  logs_.push_back(std::make_shared<OperationLog>(context_));
  return logs_.back();
}

std::vector<std::shared_ptr<OperationLog>> ThreadLogs::all() const {
  const std::lock_guard lock(mutex_);
  return logs_;
}

}  // namespace genscope::compat::training

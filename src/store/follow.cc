#include "store/follow.h"

#include <algorithm>

#include "store/segments.h"

namespace genscope::store {

Progress Follower::poll() {
  const Result<TraceFiles> found = list_trace_files(run_dir_);
  // Out of descriptors, say: what was known stays so until we can look again.
  if (!found && found.error().code == ErrorCode::io) return progress();
  const TraceFiles none;
  const TraceFiles& files = found ? *found : none;
  std::erase_if(traces_, [&](const auto& item) { return !files.contains(item.first); });
  for (const auto& [stem, segments] : files) {
    std::unique_ptr<TraceFollower>& trace = traces_[stem];
    if (trace == nullptr) trace = std::make_unique<TraceFollower>(run_dir_);
    const std::uint64_t before = trace->bytes_read();
    trace->poll(segments, scratch_);
    bytes_read_ += trace->bytes_read() - before;
  }
  return progress();
}

// A process may have made several traces, one after the other: the latest says what it is doing.
Progress Follower::progress() const {
  std::vector<const TraceFollower*> traces;
  for (const auto& [stem, trace] : traces_) {
    if (trace->identified()) traces.push_back(trace.get());
  }
  std::stable_sort(traces.begin(), traces.end(),
                   [](const auto* a, const auto* b) { return a->started_ns() < b->started_ns(); });
  Progress out;
  std::map<std::string, std::size_t> places;  // by process
  for (const TraceFollower* trace : traces) {
    Progress::Process now = trace->progress();
    const auto [it, first] = places.try_emplace(trace->process_key(), out.processes.size());
    if (first) {
      out.processes.push_back(std::move(now));
      continue;
    }
    Progress::Process& process = out.processes[it->second];
    if (now.last_stage.empty()) {
      now.last_stage = process.last_stage;
      now.last_stage_seconds = process.last_stage_seconds;
    }
    now.dropped_spans += process.dropped_spans;
    process = std::move(now);
  }
  return out;
}

}  // namespace genscope::store

namespace genscope {

struct RunFollower::Impl {
  store::Follower follower;
};

RunFollower::RunFollower(std::string run_dir)
    : impl_(std::make_unique<Impl>(Impl{store::Follower(std::move(run_dir))})) {}
RunFollower::~RunFollower() = default;
RunFollower::RunFollower(RunFollower&&) noexcept = default;

Progress RunFollower::poll() { return impl_->follower.poll(); }

}  // namespace genscope

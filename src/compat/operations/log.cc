#include "compat/operations/log.h"

#include <algorithm>
#include <new>

#include "base/text.h"

namespace genscope::compat::training {
namespace {

constinit Site cpu_delta_key{"cpu_delta_bytes", SpanKind::none, {0}};
constinit Site gpu_delta_key{"gpu_delta_bytes", SpanKind::none, {0}};
constinit Site gpu_peak_key{"gpu_peak_bytes", SpanKind::none, {0}};

template <class T>
void keep_most(std::optional<T>& most, const std::optional<T>& value) {
  if (value) most = std::max(most.value_or(*value), *value);
}

void put_ends(MemoryChange& ends, const MemoryChange& call, bool first, bool last) {
  if (first) ends.begin = call.begin;
  if (last) ends.end = call.end;
}

}  // namespace

void OperationSums::add(const Call& call, bool inside_same, bool aggregate) noexcept {
  const bool first = count == 0;
  if (first) first_end_ns = call.end_ns;
  last_end_ns = call.end_ns;
  put_ends(cpu_ends, call.cpu, first, true);
  put_ends(gpu_ends, call.gpu, first, true);
  count++;
  failed += call.failed ? 1 : 0;
  if (!inside_same) total_ns += call.duration_ns;
  self_ns += call.self_ns;
  cpu.add(call.cpu.delta());
  gpu.add(call.gpu.delta());
  keep_most(gpu_peak, call.gpu_peak);
  durations_ns.add(static_cast<double>(call.duration_ns));
  if (!aggregate) return;
  aggregated++;
  aggregated_failed += call.failed ? 1 : 0;
  aggregated_ns += inside_same ? 0 : call.duration_ns;
  aggregated_self_ns += call.self_ns;
  aggregated_cpu.add(call.cpu.delta());
  aggregated_gpu.add(call.gpu.delta());
}

void OperationSums::merge(const OperationSums& other) {
  if (other.count == 0) return;
  const bool first = count == 0 || other.first_end_ns < first_end_ns;
  const bool last = count == 0 || other.last_end_ns >= last_end_ns;
  put_ends(cpu_ends, other.cpu_ends, first, last);
  put_ends(gpu_ends, other.gpu_ends, first, last);
  if (first) first_end_ns = other.first_end_ns;
  if (last) last_end_ns = other.last_end_ns;
  count += other.count;
  failed += other.failed;
  aggregated += other.aggregated;
  total_ns += other.total_ns;
  self_ns += other.self_ns;
  aggregated_ns += other.aggregated_ns;
  aggregated_self_ns += other.aggregated_self_ns;
  aggregated_failed += other.aggregated_failed;
  cpu.add(other.cpu.sum);
  gpu.add(other.gpu.sum);
  aggregated_cpu.add(other.aggregated_cpu.sum);
  aggregated_gpu.add(other.aggregated_gpu.sum);
  keep_most(gpu_peak, other.gpu_peak);
  durations_ns.merge(other.durations_ns);
}

std::uint32_t OperationLog::intern(std::string_view operation) {
  operation = base::cut_utf8(operation, kMaxNameBytes);
  if (const auto found = numbers_.find(operation); found != numbers_.end()) return found->second;
  if (names_.size() >= kMaxOperations && operation != kOther) return intern(kOther);
  const std::size_t number = names_.size();
  try {
    names_.emplace_back(operation);
    sums_.push_back(std::make_unique<OperationSums>());
    numbers_.emplace(operation, static_cast<std::uint32_t>(number));
  } catch (...) {
    names_.resize(number);
    sums_.resize(number);
    throw;
  }
  return static_cast<std::uint32_t>(number);
}

// Shares the last reading if it is fresh and came after that one.
std::optional<std::uint64_t> OperationLog::cpu_bytes(std::int64_t now_ns,
                                                     std::uint64_t after) noexcept {
  const std::int64_t age_ns = now_ns - cpu_read_ns_;
  if (cpu_readings_ > after && age_ns >= 0 && age_ns <= kSharedReadingNs) return cpu_read_;
  cpu_read_ = context_->memory->cpu_bytes();
  cpu_read_ns_ = now_ns;
  cpu_readings_++;
  return cpu_read_;
}

OperationLog::Frame& OperationLog::push(std::string_view operation) {
  if (depth_ == frames_.size()) frames_.push_back(std::make_unique<Frame>());
  const std::uint32_t interned = intern(operation);
  Frame& frame = *frames_[depth_++];
  frame.number = ++frames_made_;
  frame.operation = interned;
  frame.own_ns = frame.children_ns = 0;
  frame.cpu_begin.reset();
  return frame;
}

std::uint64_t OperationLog::begin(std::string_view operation, bool aggregate) {
  const std::int64_t entered = context_->clock();
  const std::lock_guard lock(mutex_);
  Frame& frame = push(operation);
  frame.entered_ns = entered;
  frame.aggregate = aggregate;
  if (MemoryReader* const memory = context_->memory.get(); memory != nullptr) {
    frame.cpu_begin = cpu_bytes(entered, 0);
    frame.cpu_reading = cpu_readings_;
    frame.gpu.open(memory);
  }
  frame.span = begin_scoped(SpanKind::stage, names_[frame.operation]);
  frame.begin_ns = context_->clock();
  return frame.number;
}

void OperationLog::end(std::uint64_t number, bool failed) noexcept {
  const std::int64_t ended = context_->clock();
  const std::lock_guard lock(mutex_);
  // Nearly always the innermost; an operation that was moved out of its scope may lie deeper.
  std::size_t at = depth_;
  while (at > 0 && frames_[at - 1]->number != number) --at;
  if (at == 0) return;
  Frame& frame = *frames_[--at];
  failed ? end_failed(frame.span) : genscope::end(frame.span);

  Call call;
  call.end_ns = ended;
  call.duration_ns = std::max<std::int64_t>(0, ended - frame.begin_ns - frame.own_ns);
  call.self_ns = std::max<std::int64_t>(0, call.duration_ns - frame.children_ns);
  call.failed = failed;
  if (context_->memory != nullptr) {
    call.cpu = {frame.cpu_begin, cpu_bytes(ended, frame.cpu_reading)};
    frame.gpu.close();
    call.gpu = {frame.gpu.begin().used_bytes, frame.gpu.end().used_bytes};
    call.gpu_peak = frame.gpu.peak_bytes();
  }
  bool inside_same = false;
  for (std::size_t i = 0; i < at; ++i) inside_same |= frames_[i]->operation == frame.operation;
  keep(frame, call, inside_same);
  if (!frame.aggregate && frame.span) tell_recorder(frame, call);

  std::rotate(frames_.begin() + static_cast<std::ptrdiff_t>(at),
              frames_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
              frames_.begin() + static_cast<std::ptrdiff_t>(depth_));
  depth_--;
  if (at == 0) return;
  Frame& around = *frames_[at - 1];
  around.children_ns += call.duration_ns;
  around.own_ns += frame.own_ns + (frame.begin_ns - frame.entered_ns) + (context_->clock() - ended);
}

void OperationLog::keep(const Frame& frame, const Call& call, bool inside_same) noexcept {
  bool aggregate = frame.aggregate;
  if (!aggregate) {
    aggregate = context_->records.fetch_add(1, std::memory_order_relaxed) >= context_->max_records;
    try {
      if (!aggregate) records_.push_back({frame.operation, call});
    } catch (const std::bad_alloc&) {
      aggregate = true;  // as beyond max_records
    }
  }
  sums_[frame.operation]->add(call, inside_same, aggregate);
}

void OperationLog::tell_recorder(const Frame& frame, const Call& call) const noexcept {
  if (const auto delta = call.cpu.delta()) {
    frame.span.arg(Arg(internal::StaticArg<std::int64_t>{cpu_delta_key, *delta}));
  }
  if (const auto delta = call.gpu.delta()) {
    frame.span.arg(Arg(internal::StaticArg<std::int64_t>{gpu_delta_key, *delta}));
  }
  if (call.gpu_peak) {
    frame.span.arg(Arg(internal::StaticArg<std::uint64_t>{gpu_peak_key, *call.gpu_peak}));
  }
}

bool OperationLog::idle() const noexcept {
  const std::lock_guard lock(mutex_);
  return depth_ == 0;
}

void OperationLog::clear() noexcept {
  const std::lock_guard lock(mutex_);
  records_.clear();
  for (auto& sums : sums_) *sums = OperationSums{};
}

}  // namespace genscope::compat::training

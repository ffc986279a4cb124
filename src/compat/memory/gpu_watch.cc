#include "compat/memory/gpu_watch.h"

#include <algorithm>
#include <mutex>
#include <type_traits>

namespace genscope::compat::training {
namespace {

struct OpenWatches {
  std::mutex mutex;
  GpuWatch* first = nullptr;
};
// Never destroyed: see default_memory_reader().
static_assert(std::is_trivially_destructible_v<OpenWatches>);
OpenWatches& open_watches() noexcept {
  static constinit OpenWatches watches;
  return watches;
}

std::optional<std::uint64_t> most(const GpuMemory& memory) {
  if (!memory.peak_bytes) return memory.used_bytes;
  return std::max(*memory.peak_bytes, memory.used_bytes.value_or(0));
}

}  // namespace

void GpuWatch::see(std::optional<std::uint64_t> bytes) noexcept {
  if (bytes) peak_ = std::max(peak_.value_or(0), *bytes);
}

void GpuWatch::give_to_all(const MemoryReader* reader, const GpuMemory& now) noexcept {
  for (GpuWatch* watch = open_watches().first; watch != nullptr; watch = watch->next_) {
    if (watch->reader_ == reader) watch->see(most(now));
  }
}

void GpuWatch::open(MemoryReader* reader) noexcept {
  abandon();
  begin_ = end_ = {};
  peak_.reset();
  if (reader == nullptr || !reader->has_gpu()) return;
  OpenWatches& all = open_watches();
  const std::lock_guard lock(all.mutex);
  begin_ = reader->gpu();
  give_to_all(reader, begin_);
  if (begin_.peak_bytes) reader->reset_gpu_peak();
  see(begin_.used_bytes);
  reader_ = reader;
  next_ = all.first;
  if (next_ != nullptr) next_->previous_ = this;
  all.first = this;
}

void GpuWatch::close() noexcept {
  if (reader_ == nullptr) return;
  const std::lock_guard lock(open_watches().mutex);
  end_ = reader_->gpu();
  give_to_all(reader_, end_);
  unlink();
}

void GpuWatch::abandon() noexcept {
  if (reader_ == nullptr) return;
  const std::lock_guard lock(open_watches().mutex);
  unlink();
}

void GpuWatch::unlink() noexcept {
  (previous_ != nullptr ? previous_->next_ : open_watches().first) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  previous_ = next_ = nullptr;
  reader_ = nullptr;
}

}  // namespace genscope::compat::training

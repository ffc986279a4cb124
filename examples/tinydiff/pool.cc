#include "pool.h"

#include <genscope/record.h>

#include <string>

namespace tinydiff {

Pool::Pool(int threads) {
  // Eigen derives the depth of its blocks, hence the order of its sums, from the cache sizes. Fixed
  // ones make two machines of one instruction set agree.
  Eigen::setCpuCacheSizes(32 * 1024, 512 * 1024, 4 * 1024 * 1024);
  for (int number = 1; number < threads; ++number) {
    workers_.emplace_back([this, number] { worker_loop(number); });
  }
}

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Pool::run(Index tile_count, const std::function<void(Tiles&)>& work) {
  if (tile_count <= 0) return;
  Tiles tiles(tile_count);
  if (workers_.empty() || tile_count == 1) {
    work(tiles);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    tiles_ = &tiles;
    ++generation_;
  }
  wake_.notify_all();
  work(tiles);
  // Closing the operation under the lock keeps late workers out; those inside are waited for.
  std::unique_lock lock(mutex_);
  work_ = nullptr;
  tiles_ = nullptr;
  done_.wait(lock, [this] { return busy_ == 0; });
}

void Pool::worker_loop(int number) {
  genscope::name_thread("worker " + std::to_string(number));
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || (work_ != nullptr && generation_ != seen); });
    if (stop_) return;
    seen = generation_;
    if (tiles_->empty()) continue;
    const auto* const work = work_;
    Tiles* const tiles = tiles_;
    ++busy_;
    lock.unlock();
    (*work)(*tiles);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace tinydiff

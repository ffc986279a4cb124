// A fixed set of threads that share the tiles of one operation at a time.
//
// Determinism: the caller cuts an operation into tiles by its shape alone, and every tile writes
// its own part of the output. Who computes a tile then has no influence on the result, so the
// output is the same, bit by bit, for any number of threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tensor.h"

namespace tinydiff {

// Hands out the tile numbers 0 .. count-1, each once. Shared by the threads of one operation.
class Tiles {
 public:
  explicit Tiles(Index count) : count_(count) {}

  // The next tile, or -1 when none is left.
  Index take() {
    const Index tile = next_.fetch_add(1, std::memory_order_relaxed);
    return tile < count_ ? tile : -1;
  }
  bool empty() const { return next_.load(std::memory_order_relaxed) >= count_; }

 private:
  const Index count_;
  std::atomic<Index> next_{0};
};

// How many tiles of `tile` items cover `size` items.
inline Index tiles_for(Index size, Index tile) { return (size + tile - 1) / tile; }

class Pool {
 public:
  // `threads` counts the caller: a pool of 1 starts no thread and runs everything inline.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Runs `work(tiles)` on the calling thread and, when there is more than one tile, on the workers;
  // returns when all tiles are done. `work` loops over tiles.take() until it yields -1, and must
  // not throw. One operation at a time: to be called from one thread only, and not from `work`.
  void run(Index tile_count, const std::function<void(Tiles&)>& work);

 private:
  void worker_loop(int number);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(Tiles&)>* work_ = nullptr;  // the current operation
  Tiles* tiles_ = nullptr;
  std::uint64_t generation_ = 0;  // counts operations, so that a worker joins each at most once
  int busy_ = 0;                  // workers inside the current operation
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace tinydiff

#include "record/pool.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "testing/random.h"
#include "testing/sanitizer.h"

namespace genscope::record {
namespace {

class Chunks {
 public:
  explicit Chunks(std::uint32_t count)
      : memory_(static_cast<std::byte*>(
            std::aligned_alloc(4096, std::size_t{count} * internal::kChunkBytes))) {
    for (std::uint32_t i = 0; i < count; ++i)
      new (memory_ + i * internal::kChunkBytes) ChunkHeader{};
    pool.init(memory_, count, touched_);
  }
  ~Chunks() { std::free(memory_); }
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;
  ChunkPool pool;

 private:
  std::byte* memory_;
  std::uint32_t touched_ = 0;
};

std::uint32_t state(const ChunkHeader* chunk) { return chunk->state.load(); }

TEST(Pool, HandsOutEachChunkOnceThenNothing) {
  Chunks chunks(5);
  std::set<ChunkHeader*> seen;
  for (int i = 0; i < 5; ++i) seen.insert(chunks.pool.pop());
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen.count(nullptr), 0u);
  EXPECT_EQ(chunks.pool.pop(), nullptr);
  EXPECT_EQ(chunks.pool.touched(), 5u);
}

TEST(Pool, GivesTheLastFreedFirst) {
  Chunks chunks(4);
  ChunkHeader* const a = chunks.pool.pop();
  ChunkHeader* const b = chunks.pool.pop();
  chunks.pool.push(a);
  chunks.pool.push(b);
  EXPECT_EQ(chunks.pool.free_count(), 2u);
  EXPECT_EQ(chunks.pool.pop(), b);
  EXPECT_EQ(chunks.pool.pop(), a);
  EXPECT_EQ(chunks.pool.free_count(), 0u);
  EXPECT_EQ(chunks.pool.touched(), 2u);
}

TEST(Pool, FilledChunksComeOldestFirst) {
  Chunks chunks(4);
  EXPECT_EQ(chunks.pool.take_filled(), nullptr);
  std::vector<ChunkHeader*> in;
  for (int i = 0; i < 4; ++i) {
    in.push_back(chunks.pool.pop());
    chunks.pool.fill(in.back());
    EXPECT_EQ(state(in.back()), static_cast<std::uint32_t>(ChunkState::filled));
  }
  std::vector<ChunkHeader*> out;
  for (ChunkHeader* c = chunks.pool.take_filled(); c != nullptr; c = chunks.pool.next(c)) {
    out.push_back(c);
  }
  EXPECT_EQ(out, in);
  EXPECT_EQ(chunks.pool.take_filled(), nullptr);
}

TEST(Pool, PrefaultFreesUntouchedChunksUpToTheWish) {
  Chunks chunks(6);
  chunks.pool.prefault(4);
  EXPECT_EQ(chunks.pool.free_count(), 4u);
  EXPECT_EQ(chunks.pool.touched(), 4u);
  chunks.pool.prefault(100);
  EXPECT_EQ(chunks.pool.free_count(), 6u);
  EXPECT_EQ(chunks.pool.touched(), 6u);
}

// Each chunk carries a counter of owners in a word of its own; two owners at once would show.
TEST(Pool, ManyThreadsNeverHoldTheSameChunk) {
  constexpr int kThreads = 4;
  constexpr std::uint32_t kCount = 16;
  const std::size_t rounds = testing::scaled(200'000);
  Chunks chunks(kCount);
  ChunkPool& pool = chunks.pool;
  const auto owners = [](ChunkHeader* c) -> std::atomic<std::uint64_t>& {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(c + 1);
  };
  for (std::uint32_t i = 0; i < kCount; ++i)
    new (&owners(pool.at(i))) std::atomic<std::uint64_t>(0);
  std::atomic<bool> stop{false};
  std::atomic<int> twice{0};
  std::atomic<std::uint64_t> filled{0}, drained{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < rounds; ++i) {
        ChunkHeader* const chunk = pool.pop();
        if (chunk == nullptr) {
          std::this_thread::yield();
          continue;
        }
        if (owners(chunk).fetch_add(1) != 0) twice++;
        chunk->tail.store(i);
        if (owners(chunk).fetch_sub(1) != 1) twice++;
        filled++;
        pool.fill(chunk);
      }
    });
  }
  std::thread drain([&] {
    for (bool last = false;;) {
      ChunkHeader* chunk = pool.take_filled();
      while (chunk != nullptr) {
        ChunkHeader* const next = pool.next(chunk);
        if (owners(chunk).fetch_add(1) != 0) twice++;
        if (owners(chunk).fetch_sub(1) != 1) twice++;
        drained++;
        pool.push(chunk);
        chunk = next;
      }
      if (last) return;
      last = stop.load();
      pool.prefault(kCount / 2);
    }
  });
  for (std::thread& t : threads) t.join();
  stop = true;
  drain.join();
  EXPECT_EQ(twice.load(), 0);
  EXPECT_EQ(filled.load(), drained.load());
  std::set<ChunkHeader*> all;
  while (ChunkHeader* c = pool.pop()) EXPECT_TRUE(all.insert(c).second);
  EXPECT_EQ(all.size(), kCount);
}

}  // namespace
}  // namespace genscope::record

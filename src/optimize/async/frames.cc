// Free lists by size, 64 bytes apart. A thread keeps up to two batches of a size; a full batch goes
// to the shared store and an empty list takes one from there, so that a lock is taken once in 64
// blocks even where one thread makes and another frees.
//
// Sanitizers look at the blocks themselves: there each one is allocated and freed.
#include <genscope/internal/optimize/async/frames.h>

#include <array>
#include <mutex>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GENSCOPE_RECYCLE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GENSCOPE_RECYCLE 0
#endif
#endif
#if !defined(GENSCOPE_RECYCLE)
#define GENSCOPE_RECYCLE 1
#endif

namespace genscope::optimize::internal {

#if GENSCOPE_RECYCLE
namespace {

constexpr std::size_t kStep = 64, kSizes = 32, kBatch = 64, kStoredBatches = 64;

struct Block {
  Block* next;
  Block* next_batch;  // of a batch's first block
};

struct Store {
  std::mutex mutex;
  Block* batches = nullptr;
  std::size_t count = 0;
};

std::array<Store, kSizes>& stores() {
  static auto* const all = new std::array<Store, kSizes>;  // threads that end late still use it
  return *all;
}

void free_chain(Block* chain) noexcept {
  while (chain != nullptr) {
    Block* const next = chain->next;
    ::operator delete(chain);
    chain = next;
  }
}

void store_batch(std::size_t size, Block* batch) noexcept {
  Store& store = stores()[size];
  {
    const std::lock_guard lock(store.mutex);
    if (store.count < kStoredBatches) {
      batch->next_batch = store.batches;
      store.batches = batch;
      ++store.count;
      return;
    }
  }
  free_chain(batch);
}

Block* stored_batch(std::size_t size) noexcept {
  Store& store = stores()[size];
  const std::lock_guard lock(store.mutex);
  Block* const batch = store.batches;
  if (batch != nullptr) {
    store.batches = batch->next_batch;
    --store.count;
  }
  return batch;
}

struct List {
  Block* head = nullptr;
  std::size_t count = 0;
  Block* full = nullptr;  // one batch in reserve
};

// Trivial, so that access needs no guard; its owner below frees it when the thread ends.
struct Lists {
  std::array<List, kSizes> of{};
  bool owned = false, ended = false;
};
constinit thread_local Lists t_lists;

struct Owner {
  ~Owner() {
    t_lists.ended = true;
    for (List& list : t_lists.of) {
      free_chain(list.head);
      free_chain(list.full);
      list = List();
    }
  }
};

[[gnu::noinline]] void own_lists() noexcept {
  thread_local Owner owner;
  static_cast<void>(owner);
  t_lists.owned = true;
}

[[gnu::noinline]] void* refill(List& list, std::size_t size) {
  if (!t_lists.owned) own_lists();
  Block* batch = list.full != nullptr ? list.full : nullptr;
  list.full = nullptr;
  if (batch == nullptr && !t_lists.ended) batch = stored_batch(size);
  if (batch == nullptr) return ::operator new((size + 1) * kStep);
  list.head = batch->next;
  list.count = kBatch - 1;
  return batch;
}

}  // namespace

void* take_block(std::size_t bytes) {
  const std::size_t size = (bytes - 1) / kStep;
  if (size >= kSizes) return ::operator new(bytes);
  List& list = t_lists.of[size];
  if (list.head == nullptr) [[unlikely]]
    return refill(list, size);
  Block* const block = list.head;
  list.head = block->next;
  --list.count;
  return block;
}

void give_block(void* memory, std::size_t bytes) noexcept {
  const std::size_t size = (bytes - 1) / kStep;
  if (size >= kSizes || t_lists.ended) [[unlikely]] {
    ::operator delete(memory);
    return;
  }
  List& list = t_lists.of[size];
  if (list.count == kBatch) [[unlikely]] {
    if (!t_lists.owned) own_lists();
    if (list.full != nullptr) store_batch(size, list.full);
    list.full = list.head;
    list.head = nullptr;
    list.count = 0;
  }
  Block* const block = ::new (memory) Block{list.head, nullptr};
  list.head = block;
  ++list.count;
}

#else

void* take_block(std::size_t bytes) { return ::operator new(bytes); }
void give_block(void* block, std::size_t) noexcept { ::operator delete(block); }

#endif

}  // namespace genscope::optimize::internal

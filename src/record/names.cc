#include "record/names.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

#include "base/text.h"
#include "genscope/record.h"

namespace genscope::record {
namespace {

void* from_kernel(std::size_t bytes) noexcept {
  void* const p =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p != MAP_FAILED ? p : nullptr;
}

}  // namespace

void* Arena::take(std::size_t bytes) noexcept {
  bytes = (bytes + 15) & ~std::size_t{15};
  if (bytes > kBlockBytes) return nullptr;
  if (bytes > left_) {
    auto* const block = static_cast<std::byte*>(from_kernel(kBlockBytes));
    if (block == nullptr) return nullptr;
    at_ = block;
    left_ = kBlockBytes;
  }
  left_ -= bytes;
  return std::exchange(at_, at_ + bytes);
}

NameTable& NameTable::instance() {
  alignas(NameTable) static std::byte place[sizeof(NameTable)];
  static NameTable* const table = new (place) NameTable;
  return *table;
}

NameTable::NameTable() noexcept { add_known(); }

bool NameTable::add_known() noexcept {
  using namespace internal;
  struct Known {
    SpanKind kind;
    std::string_view name;
    std::uint32_t id;
  };
  constexpr Known kKnown[] = {
      {SpanKind::none, "device_ns", kKeyDeviceNs},
      {SpanKind::none, "device_begin_ns", kKeyDeviceBegin},
      {SpanKind::none, "track", kKeyTrack},
      {SpanKind::none, "index", kKeyIndex},
      {SpanKind::step, "step", kSiteStep},
      {SpanKind::block, "block", kSiteBlock},
  };
  for (const Known& known : kKnown) {
    if (find(known.kind, known.name) != nullptr) continue;
    if (add(known.kind, known.name, known.id) == nullptr) return false;
  }
  if (other_ == nullptr) other_ = add(SpanKind::function, "(other names)", kSiteOther);
  return other_ != nullptr;
}

// The tag must leave room for the address. The kernel gives out none that is longer unless asked.
void NameTable::put(Slots& slots, const NameEntry& entry) noexcept {
  const std::uint64_t h = hash(entry.kind(), entry.text);
  std::uint64_t i = h;
  while (slots.at(i).load(std::memory_order_relaxed) != 0) ++i;
  const auto place = reinterpret_cast<std::uint64_t>(&entry);
  slots.at(i).store(h >> kTagShift << kTagShift | place, std::memory_order_release);
}

bool NameTable::grow() noexcept {
  constexpr std::size_t kFirst = 1024;
  const Slots* const old = slots_.load(std::memory_order_relaxed);
  const std::size_t count = old == nullptr ? kFirst : 2 * (old->mask + 1);
  void* const memory = from_kernel(sizeof(Slots) + count * sizeof(std::atomic<std::uint64_t>));
  if (memory == nullptr) return false;
  auto* const fresh = new (memory) Slots;
  fresh->mask = count - 1;
  for (const NameEntry* e = first_; e != nullptr; e = e->next) put(*fresh, *e);
  slots_.store(fresh, std::memory_order_release);
  return true;
}

NameEntry* NameTable::add(SpanKind kind, std::string_view name, std::uint32_t id) noexcept {
  const Slots* const slots = slots_.load(std::memory_order_relaxed);
  if ((slots == nullptr || 4 * (used_ + 1) > 3 * (slots->mask + 1)) && !grow()) return nullptr;
  void* const memory = arena_.take(sizeof(NameEntry) + name.size());
  if (memory == nullptr || reinterpret_cast<std::uint64_t>(memory) >> kTagShift != 0)
    return nullptr;
  char* const text = static_cast<char*>(memory) + sizeof(NameEntry);
  std::memcpy(text, name.data(), name.size());
  auto* const entry = new (memory) NameEntry(kind, {text, name.size()}, id);
  put(*slots_.load(std::memory_order_relaxed), *entry);
  (last_ != nullptr ? last_->next : first_) = entry;
  last_ = entry;
  used_++;
  return entry;
}

const NameEntry* NameTable::intern(SpanKind kind, std::string_view name,
                                   const std::function<bool(const NameEntry&)>& define) {
  name = base::cut_utf8(name, kMaxNameBytes);
  if (const NameEntry* const known = find(kind, name)) return known;
  const std::lock_guard lock(mutex_);
  if (other_ == nullptr && !add_known()) return nullptr;
  if (const NameEntry* const known = find(kind, name)) return known;
  if (next_id_ > internal::kMaxUserSite || bytes_ + name.size() > kMaxBytes) return other_;
  if (!define(NameEntry(kind, name, next_id_))) return nullptr;
  // Without memory the number is defined in the trace and stays unused; the next try gets another.
  const NameEntry* const entry = add(kind, name, next_id_++);
  if (entry != nullptr) bytes_ += name.size();
  return entry;
}

void NameTable::for_each(const std::function<void(const NameEntry&)>& visit) {
  const std::lock_guard lock(mutex_);
  for (const NameEntry* e = first_; e != nullptr; e = e->next) visit(*e);
}

}  // namespace genscope::record

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

std::size_t hash(SpanKind kind, std::string_view text) noexcept {
  return std::hash<std::string_view>()(text) * 31 + static_cast<std::size_t>(kind);
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

NameCache* NameCache::make() noexcept {
  void* const memory = from_kernel(sizeof(NameCache));
  return memory != nullptr ? new (memory) NameCache : nullptr;
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
    if (slots_ != nullptr && *place(known.kind, known.name) != nullptr) continue;
    if (add(known.kind, known.name, known.id) == nullptr) return false;
  }
  if (other_ == nullptr) other_ = add(SpanKind::function, "(other names)", kSiteOther);
  return other_ != nullptr;
}

NameEntry** NameTable::place(SpanKind kind, std::string_view name) noexcept {
  for (std::size_t i = hash(kind, name);; ++i) {
    NameEntry** const slot = &slots_[i & (slot_count_ - 1)];
    if (*slot == nullptr || ((*slot)->kind == kind && (*slot)->text == name)) return slot;
  }
}

bool NameTable::grow() noexcept {
  const std::size_t old_count = slot_count_;
  NameEntry** const old = slots_;
  const std::size_t count = old_count == 0 ? 1024 : old_count * 2;
  auto* const fresh = static_cast<NameEntry**>(from_kernel(count * sizeof(NameEntry*)));
  if (fresh == nullptr) return false;
  slots_ = fresh;
  slot_count_ = count;
  for (NameEntry* e = first_; e != nullptr; e = e->next) *place(e->kind, e->text) = e;
  if (old != nullptr) ::munmap(old, old_count * sizeof(NameEntry*));
  return true;
}

NameEntry* NameTable::add(SpanKind kind, std::string_view name, std::uint32_t id) noexcept {
  if (2 * (used_ + 1) > slot_count_ && !grow()) return nullptr;
  void* const memory = arena_.take(sizeof(NameEntry) + name.size());
  if (memory == nullptr) return nullptr;
  char* const text = static_cast<char*>(memory) + sizeof(NameEntry);
  std::memcpy(text, name.data(), name.size());
  auto* const entry = new (memory) NameEntry{{text, name.size()}, kind, id, nullptr};
  *place(kind, entry->text) = entry;
  (last_ != nullptr ? last_->next : first_) = entry;
  last_ = entry;
  used_++;
  return entry;
}

const NameEntry* NameTable::intern(SpanKind kind, std::string_view name,
                                   const std::function<bool(const NameEntry&)>& define) {
  name = base::cut_utf8(name, kMaxNameBytes);
  const std::lock_guard lock(mutex_);
  if (other_ == nullptr && !add_known()) return nullptr;
  if (const NameEntry* const known = *place(kind, name)) return known;
  if (next_id_ > internal::kMaxUserSite || bytes_ + name.size() > kMaxBytes) return other_;
  if (!define(NameEntry{name, kind, next_id_, nullptr})) return nullptr;
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

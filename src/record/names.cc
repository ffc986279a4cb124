#include "record/names.h"

#include "base/text.h"
#include "genscope/record.h"

namespace genscope::record {

NameTable& NameTable::instance() {
  static NameTable* const leaked = new NameTable;
  return *leaked;
}

NameTable::NameTable() {
  using namespace internal;
  entries_ = {{"device_ns", SpanKind::none, kKeyDeviceNs},
              {"device_begin_ns", SpanKind::none, kKeyDeviceBegin},
              {"track", SpanKind::none, kKeyTrack},
              {"index", SpanKind::none, kKeyIndex},
              {"step", SpanKind::step, kSiteStep},
              {"block", SpanKind::block, kSiteBlock},
              {"(other names)", SpanKind::function, kSiteOther}};
  for (NameEntry& e : entries_) index_.emplace(Key{e.text, e.kind}, &e);
}

const NameEntry* NameTable::intern(SpanKind kind, std::string_view name,
                                   const std::function<bool(const NameEntry&)>& define) {
  name = base::cut_utf8(name, kMaxNameBytes);
  const std::lock_guard lock(mutex_);
  if (const auto it = index_.find(Key{name, kind}); it != index_.end()) return it->second;
  if (next_id_ > internal::kMaxUserSite || bytes_ + name.size() > kMaxBytes) {
    return index_.at(Key{"(other names)", SpanKind::function});
  }
  NameEntry& entry = entries_.emplace_back(NameEntry{std::string(name), kind, next_id_});
  if (!define(entry)) {
    entries_.pop_back();
    return nullptr;
  }
  index_.emplace(Key{entry.text, kind}, &entry);
  bytes_ += name.size();
  next_id_++;
  return &entry;
}

void NameTable::for_each(const std::function<void(const NameEntry&)>& visit) {
  const std::lock_guard lock(mutex_);
  for (const NameEntry& entry : entries_) visit(entry);
}

}  // namespace genscope::record

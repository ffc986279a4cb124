#include "store/definitions.h"

#include <cstring>

namespace genscope::store {

std::uint32_t& NameIndex::slot(std::uint32_t site) {
  if (site > internal::kMaxUserSite) return well_known_.try_emplace(site, kNone).first->second;
  if (site >= index_.size()) index_.resize(site + 1, kNone);
  return index_[site];
}

void NameIndex::define(std::uint32_t site, Name name) {
  if (site > internal::kFieldMask) return;
  std::uint32_t& index = slot(site);
  if (index != kNone) return;
  index = static_cast<std::uint32_t>(names_.size());
  names_.push_back(std::move(name));
}

std::uint32_t NameIndex::of_rare(std::uint32_t site) {
  std::uint32_t& index = slot(site & internal::kFieldMask);
  if (index == kNone) {
    index = static_cast<std::uint32_t>(names_.size());
    names_.push_back({"(unknown name " + std::to_string(site) + ")", SpanKind::function});
  }
  return index;
}

Result<std::span<const std::uint64_t>> words_of(const Chunk& chunk, trace::Unpacker& unpacker,
                                                std::vector<trace::OpenSpan>& open) {
  const std::size_t open_bytes = std::size_t{chunk.open_spans} * sizeof(trace::OpenSpan);
  open.resize(chunk.open_spans);
  if (open_bytes > 0) std::memcpy(open.data(), chunk.payload.data(), open_bytes);
  const std::span<const std::byte> body = chunk.payload.subspan(open_bytes);
  if (chunk.codec == trace::Codec::raw) return unpacker.copy(body);
  const std::uint64_t first_id = internal::make_id(chunk.lane & internal::kMaxLane, chunk.seq, 0);
  return unpacker.unpack(body, chunk.words, first_id, open);
}

Definitions read_definitions(const std::vector<Chunk>& chunks, NameIndex& names,
                             Integrity& integrity) {
  Definitions out;
  trace::Unpacker unpacker;
  std::vector<trace::OpenSpan> open;
  const auto take = [&](const trace::Meta& meta) {
    if (const auto* site = std::get_if<trace::SiteMeta>(&meta)) {
      const auto kind = site->kind > SpanKind::function ? SpanKind::function : site->kind;
      names.define(site->id, {std::string(site->name), kind});
    } else if (const auto* thread = std::get_if<trace::ThreadMeta>(&meta)) {
      // name_thread() writes no tid.
      Definitions::Thread& t = out.threads[thread->lane];
      const bool named = thread->tid == 0;
      if (!named) t.tid = thread->tid;
      if (named || !t.named) t.name = thread->name;
      t.named |= named;
    } else if (const auto* clock = std::get_if<trace::ClockMeta>(&meta)) {
      out.clocks.push_back(*clock);
    } else if (const auto* loss = std::get_if<trace::LossMeta>(&meta)) {
      out.losses.push_back(*loss);
    }
  };
  for (const Chunk& chunk : chunks) {
    const auto words = words_of(chunk, unpacker, open);
    if (!words.ok()) {
      integrity.bad_frames++;
      integrity.bad_bytes += chunk.payload.size();
      continue;
    }
    for_each_meta(*words, integrity.bad_words, take);
  }
  return out;
}

}  // namespace genscope::store

#include "trace/meta.h"

#include <cstring>

#include "base/text.h"

namespace genscope::trace {
namespace {

using internal::make_word;
using internal::MetaType;
using internal::Op;

constexpr std::size_t kMaxName = 255;

std::uint64_t head(MetaType type, std::size_t bytes) noexcept {
  return make_word(Op::meta, static_cast<std::uint32_t>(type), bytes);
}

std::size_t encode_named(MetaType type, std::uint64_t first, std::string_view name,
                         std::uint64_t* out) noexcept {
  name = base::cut_utf8(name, kMaxName);
  const std::size_t words = (name.size() + 7) / 8;
  out[0] = head(type, 8 + name.size());
  out[1] = first;
  if (words > 0) {
    out[1 + words] = 0;
    std::memcpy(out + 2, name.data(), name.size());
  }
  return 2 + words;
}

template <std::size_t N>
std::size_t encode_words(MetaType type, const std::array<std::uint64_t, N>& words,
                         std::uint64_t* out) noexcept {
  out[0] = head(type, N * 8);
  std::memcpy(out + 1, words.data(), N * 8);
  return 1 + N;
}

struct Encoder {
  std::uint64_t* out;
  std::size_t operator()(const SiteMeta& m) const noexcept {
    const auto kind = static_cast<std::uint64_t>(m.kind);
    return encode_named(MetaType::site, m.id | kind << 32, m.name, out);
  }
  std::size_t operator()(const ThreadMeta& m) const noexcept {
    return encode_named(MetaType::thread, m.lane | std::uint64_t{m.tid} << 32, m.name, out);
  }
  std::size_t operator()(const ClockMeta& m) const noexcept {
    return encode_words<5>(MetaType::clock,
                           {m.ticks, static_cast<std::uint64_t>(m.monotonic_ns),
                            static_cast<std::uint64_t>(m.realtime_ns),
                            static_cast<std::uint64_t>(m.boottime_ns), m.width_ticks},
                           out);
  }
  std::size_t operator()(const LossMeta& m) const noexcept {
    return encode_words<5>(MetaType::loss, {m.lane, m.spans, m.records, m.first_tick, m.last_tick},
                           out);
  }
};

}  // namespace

std::size_t encode(const Meta& meta, std::uint64_t* out) noexcept {
  return std::visit(Encoder{out}, meta);
}

std::optional<Meta> decode(std::uint64_t head, std::span<const std::uint64_t> payload) noexcept {
  const std::uint64_t bytes = internal::low_of(head);
  if (bytes > payload.size() * 8) return std::nullopt;
  const auto name = [&]() -> std::string_view {
    return {reinterpret_cast<const char*>(payload.data() + 1), bytes - 8};
  };
  const auto low32 = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const auto high32 = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  const auto ns = [](std::uint64_t v) { return static_cast<std::int64_t>(v); };
  switch (static_cast<MetaType>(internal::field_of(head))) {
    case MetaType::site:
      if (bytes < 8 || bytes > 8 + kMaxName) return std::nullopt;
      return SiteMeta{low32(payload[0]), static_cast<SpanKind>(high32(payload[0]) & 0xFF), name()};
    case MetaType::thread:
      if (bytes < 8 || bytes > 8 + kMaxName) return std::nullopt;
      return ThreadMeta{low32(payload[0]), high32(payload[0]), name()};
    case MetaType::clock:
      if (bytes != 40) return std::nullopt;
      return ClockMeta{payload[0], ns(payload[1]), ns(payload[2]), ns(payload[3]), payload[4]};
    case MetaType::loss:
      if (bytes != 40) return std::nullopt;
      return LossMeta{low32(payload[0]), payload[1], payload[2], payload[3], payload[4]};
  }
  return std::nullopt;
}

}  // namespace genscope::trace

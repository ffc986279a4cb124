// A cursor walks the arguments beside their owners. Both are in the same order, so seek() goes
// forward only, and all arguments of a trace are passed once, however many owners are looked at.
#include "analyze/generation/keys.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "analyze/time.h"

namespace genscope::analysis {
namespace {

struct Spelling {
  std::string_view text;
  Key key;
};
constexpr auto kSpellings = std::to_array<Spelling>({
    {"index", Key::index},
    {"epoch", Key::index},
    {"timestep", Key::timestep},
    {"guidance", Key::guidance},
    {"guidance_scale", Key::guidance},
    {"block_size", Key::block_size},
    {"frames", Key::frames},
    {"memory_bytes", Key::memory_bytes},
    {"memory_mb", Key::memory_mb},
    {"ms", Key::ms},
    {"loss", Key::loss},
    {"images", Key::images},
    {"batch_size", Key::batch_size},
    {"encoding_time_ms", Key::encoding_time_ms},
    {"network_latency_ms", Key::network_latency_ms},
    {"buffer_occupancy", Key::buffer_occupancy},
    {"count", Key::count},
    {"name", Key::name},
    {"parameters", Key::parameters},
    {"type", Key::type},
    {"bytes", Key::bytes},
    {"size", Key::size},
    {"evicted", Key::evicted},
});

Key key_called(std::string_view text) {
  const auto found = std::find_if(kSpellings.begin(), kSpellings.end(),
                                  [&](const Spelling& spelling) { return spelling.text == text; });
  return found != kSpellings.end() ? found->key : Key::none;
}

constexpr std::size_t kNotFound = static_cast<std::size_t>(-1);

}  // namespace

ArgCursor::ArgCursor(const Trace& trace, const ArgColumns& args) : trace_(trace), args_(args) {
  if (args.size() == 0) return;
  key_of_name_.reserve(trace.names.size());
  for (const Name& name : trace.names) key_of_name_.push_back(key_called(name.text));
}

void ArgCursor::seek(std::size_t owner) noexcept {
  first_ = last_;
  while (first_ < args_.size() && args_.owner[first_] < owner) ++first_;
  last_ = first_;
  while (last_ < args_.size() && args_.owner[last_] == owner) ++last_;
}

std::size_t ArgCursor::find(Key key) const noexcept {
  for (std::size_t i = first_; i < last_; ++i) {
    if (key_of_name_[args_.key[i]] == key) return i;
  }
  return kNotFound;
}

std::optional<double> ArgCursor::number(Key key) const noexcept {
  const std::size_t i = find(key);
  if (i == kNotFound) return std::nullopt;
  const std::uint64_t bits = args_.bits[i];
  switch (args_.type[i]) {
    case ArgType::int64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case ArgType::uint64:
      return static_cast<double>(bits);
    case ArgType::float64: {
      const auto value = std::bit_cast<double>(bits);
      return std::isfinite(value) ? std::optional(value) : std::nullopt;
    }
    case ArgType::text:
    case ArgType::boolean:
      break;
  }
  return std::nullopt;
}

std::optional<double> ArgCursor::amount(Key key) const noexcept {
  const std::optional<double> value = number(key);
  return value && *value >= 0 && *value <= kLargestAmount ? value : std::nullopt;
}

std::string_view ArgCursor::text(Key key) const noexcept {
  const std::size_t i = find(key);
  if (i == kNotFound || args_.type[i] != ArgType::text) return {};
  return args_.bits[i] < trace_.texts.size() ? std::string_view(trace_.texts[args_.bits[i]])
                                             : std::string_view();
}

std::int64_t from_ms(double ms) noexcept {
  constexpr double kNsPerMs = 1e6, kLimit = 9.2e18;
  const double ns = ms * kNsPerMs;
  return ns < kLimit ? static_cast<std::int64_t>(std::llround(ns)) : kLatest;
}

}  // namespace genscope::analysis

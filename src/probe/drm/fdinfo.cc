#include "probe/drm/fdinfo.h"

#include <limits>

#include "base/file_reader.h"

namespace genscope::probe::drm {
namespace {

// "123", "123 ns", "123 KiB": a number in ones. False if it overflows.
bool parse_amount(std::string_view text, std::uint64_t& amount) noexcept {
  std::uint64_t number = 0;
  if (!base::parse_number(base::next_word(text), number)) return false;
  const std::string_view unit = base::next_word(text);
  std::uint64_t scale = 1;
  if (unit == "KiB") scale = std::uint64_t{1} << 10;
  if (unit == "MiB") scale = std::uint64_t{1} << 20;
  if (unit == "GiB") scale = std::uint64_t{1} << 30;
  if (number > std::numeric_limits<std::uint64_t>::max() / scale) return false;
  amount = number * scale;
  return true;
}

bool take_prefix(std::string_view& text, std::string_view prefix) noexcept {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool class_of(std::string_view engine, EngineClass& out) noexcept {
  if (engine == "gfx" || engine == "render" || engine == "rcs") {
    out = kRender;
    return true;
  }
  if (engine == "compute" || engine == "ccs") {
    out = kCompute;
    return true;
  }
  return false;
}

void take_engine(std::string_view key, std::uint64_t amount, Fdinfo& info) noexcept {
  const bool capacity = take_prefix(key, "engine-capacity-");
  const bool busy = !capacity && take_prefix(key, "engine-");
  const bool total = !capacity && !busy && take_prefix(key, "total-cycles-");
  if (!capacity && !busy && !total && !take_prefix(key, "cycles-")) return;
  EngineClass which{};
  if (!class_of(key, which)) return;
  Fdinfo::Engine& engine = info.engines[which];
  if (capacity) {
    engine.capacity = amount > 0 ? amount : 1;
  } else if (busy) {
    engine.busy_ns = amount;
  } else if (total) {
    engine.total_cycles = amount;
  } else {
    engine.cycles = amount;
  }
}

// Of one kind of memory, the sums over its regions by each key.
struct Pool {
  std::optional<std::uint64_t> resident, memory, total;
  std::optional<std::uint64_t> best() const noexcept {
    return resident ? resident : memory ? memory : total;
  }
};

void add(std::optional<std::uint64_t>& sum, std::uint64_t amount) noexcept {
  const std::uint64_t old = sum.value_or(0);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  sum = amount > kMost - old ? kMost : old + amount;
}

void take_memory(std::string_view key, std::uint64_t amount, Pool& local, Pool& shared) noexcept {
  const bool resident = take_prefix(key, "resident-");
  const bool memory = !resident && take_prefix(key, "memory-");
  if (!resident && !memory && !take_prefix(key, "total-")) return;
  Pool* pool = nullptr;
  if (key.starts_with("vram") || key.starts_with("local")) pool = &local;
  if (key.starts_with("gtt") || key.starts_with("system")) pool = &shared;
  if (pool != nullptr) add(resident ? pool->resident : memory ? pool->memory : pool->total, amount);
}

}  // namespace

bool parse_fdinfo(std::string_view text, Fdinfo& info) noexcept {
  info = {};
  Pool local, shared;
  bool found = false;
  while (!text.empty()) {
    std::string_view value = base::next_part(text, '\n');
    std::string_view key = base::next_part(value, ':');
    if (!take_prefix(key, "drm-")) continue;
    found = true;
    std::string_view rest = value;
    const std::string_view word = base::next_word(rest);
    if (key == "driver") info.driver = word;
    if (key == "pdev") info.pdev = word;
    std::uint64_t amount = 0;
    if (!parse_amount(value, amount)) continue;
    if (key == "client-id") info.client_id = amount;
    take_engine(key, amount, info);
    take_memory(key, amount, local, shared);
  }
  info.local_bytes = local.best();
  info.shared_bytes = shared.best();
  return found;
}

}  // namespace genscope::probe::drm

#include "probe/host/process_text.h"

#include "base/file_reader.h"

namespace genscope::probe {
namespace {

bool next_number(std::string_view& text, std::uint64_t& value) noexcept {
  return base::parse_number(base::next_word(text), value);
}

// A sum that stays a number whatever the two are.
std::uint64_t add(std::uint64_t a, std::uint64_t b) noexcept { return a + b < a ? ~0ull : a + b; }

}  // namespace

bool parse_stat(std::string_view text, ProcessStat& stat) noexcept {
  // The name may hold blanks, parentheses and newlines: it ends at the last ')'.
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return false;
  }
  std::uint64_t pid = 0;
  std::string_view head = text.substr(0, open);
  if (!next_number(head, pid) || pid > UINT32_MAX) return false;
  stat.pid = static_cast<std::uint32_t>(pid);
  stat.name = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 1);
  const std::string_view state = base::next_word(rest);
  if (state.size() != 1) return false;
  stat.state = state[0];

  constexpr int kFirst = 4, kLast = 22;  // numbered as in proc(5)
  std::uint64_t field[kLast + 1] = {};
  for (int i = kFirst; i <= kLast; ++i) {
    const std::string_view word = base::next_word(rest);
    std::int64_t negative = 0;  // terminal, priorities and old counters of children may be
    if (!base::parse_number(word, field[i]) && !base::parse_number(word, negative)) return false;
  }
  if (field[4] > UINT32_MAX) return false;
  stat.parent = static_cast<std::uint32_t>(field[4]);
  stat.minor_faults = field[10];
  stat.reaped_minor_faults = field[11];
  stat.major_faults = field[12];
  stat.reaped_major_faults = field[13];
  stat.cpu_ticks = add(field[14], field[15]);
  stat.reaped_cpu_ticks = add(field[16], field[17]);
  stat.threads = field[20];
  stat.start = field[22];
  return true;
}

bool parse_statm(std::string_view text, ProcessMemory& memory) noexcept {
  return next_number(text, memory.size) && next_number(text, memory.resident) &&
         next_number(text, memory.shared) && memory.shared <= memory.resident;
}

bool parse_io(std::string_view text, ProcessIo& io) noexcept {
  return find_number(text, "read_bytes:", io.read_bytes) &&
         find_number(text, "write_bytes:", io.write_bytes);
}

bool parse_schedstat(std::string_view text, SchedStat& stat) noexcept {
  return next_number(text, stat.ran_ns) && next_number(text, stat.waited_ns);
}

bool find_number(std::string_view text, std::string_view key, std::uint64_t& value) noexcept {
  while (!text.empty()) {
    std::string_view line = base::next_part(text, '\n');
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    return next_number(line, value);
  }
  return false;
}

}  // namespace genscope::probe

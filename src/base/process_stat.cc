#include "base/process_stat.h"

#include "base/file_reader.h"

namespace genscope::base {
namespace {

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
  if (!parse_number(next_word(head), pid) || pid > UINT32_MAX) return false;
  stat.pid = static_cast<std::uint32_t>(pid);
  stat.name = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 1);
  const std::string_view state = next_word(rest);
  if (state.size() != 1) return false;
  stat.state = state[0];

  constexpr int kFirst = 4, kLast = 22;  // numbered as in proc(5)
  std::uint64_t field[kLast + 1] = {};
  for (int i = kFirst; i <= kLast; ++i) {
    const std::string_view word = next_word(rest);
    std::int64_t negative = 0;  // terminal, priorities and old counters of children may be
    if (!parse_number(word, field[i]) && !parse_number(word, negative)) return false;
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
  next_word(rest);  // the size of its address space
  parse_number(next_word(rest), stat.resident_pages);
  return true;
}

}  // namespace genscope::base

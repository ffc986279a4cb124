#include "probe/host/process_text.h"

#include "base/file_reader.h"

namespace genscope::probe {
namespace {

bool next_number(std::string_view& text, std::uint64_t& value) noexcept {
  return base::parse_number(base::next_word(text), value);
}

}  // namespace

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

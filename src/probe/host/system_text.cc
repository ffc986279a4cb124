#include "probe/host/system_text.h"

#include <algorithm>

#include "base/file_reader.h"

namespace genscope::probe {
namespace {

constexpr std::uint64_t kMostTicks = 1ull << 58;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string_view drop_digits(std::string_view name) noexcept {
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  return name;
}

std::uint64_t grown(std::uint64_t before, std::uint64_t now) noexcept {
  return now > before ? now - before : 0;  // iowait may shrink
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=123": microseconds to nanoseconds.
bool parse_total(std::string_view line, std::int64_t& ns) noexcept {
  constexpr std::string_view kTotal = "total=";
  const std::size_t at = line.find(kTotal);
  std::uint64_t us = 0;
  if (at == std::string_view::npos) return false;
  std::string_view rest = line.substr(at + kTotal.size());
  if (!base::parse_number(base::next_word(rest), us) || us > INT64_MAX / 1000) return false;
  ns = static_cast<std::int64_t>(us) * 1000;
  return true;
}

}  // namespace

bool parse_cpu_line(std::string_view text, CpuTicks& ticks) noexcept {
  std::string_view line = base::next_part(text, '\n');
  if (base::next_word(line) != "cpu") return false;
  std::uint64_t field[8] = {};  // user nice system idle iowait irq softirq steal
  for (int i = 0; i < 8; ++i) {
    const std::string_view word = base::next_word(line);
    if (word.empty() && i >= 4) break;  // old kernels end earlier
    if (!base::parse_number(word, field[i]) || field[i] > kMostTicks) return false;
  }
  ticks = {field[0] + field[1], field[2] + field[5] + field[6], field[3], field[4], field[7]};
  return true;
}

bool cpu_shares(const CpuTicks& before, const CpuTicks& now, CpuShares& shares) noexcept {
  const auto user = static_cast<double>(grown(before.user, now.user));
  const auto system = static_cast<double>(grown(before.system, now.system));
  const auto idle = static_cast<double>(grown(before.idle, now.idle));
  const auto iowait = static_cast<double>(grown(before.iowait, now.iowait));
  const auto steal = static_cast<double>(grown(before.steal, now.steal));
  const double all = user + system + idle + iowait + steal;
  if (!(all > 0)) return false;
  shares = {(user + system + steal) / all, user / all, system / all, iowait / all, steal / all};
  return true;
}

bool parse_pressure(std::string_view text, Pressure& pressure) noexcept {
  bool has_some = false;
  pressure = {};
  while (!text.empty()) {
    const std::string_view line = base::next_part(text, '\n');
    if (line.starts_with("some ")) has_some = parse_total(line, pressure.some_ns);
    if (line.starts_with("full ")) pressure.has_full = parse_total(line, pressure.full_ns);
  }
  return has_some;
}

bool parse_disk_line(std::string_view line, DeviceLine& device) noexcept {
  constexpr int kName = 2, kSectorsRead = 5, kSectorsWritten = 9;
  constexpr std::uint64_t kSector = 512;  // in this file, whatever the disk has
  std::uint64_t read = 0, written = 0;
  for (int i = 0; i <= kSectorsWritten; ++i) {
    const std::string_view word = base::next_word(line);
    if (i == kName) device.name = word;
    if (i == kSectorsRead && !base::parse_number(word, read)) return false;
    if (i == kSectorsWritten && !base::parse_number(word, written)) return false;
  }
  if (read > kMostTicks / kSector || written > kMostTicks / kSector) return false;
  device.in_bytes = read * kSector;
  device.out_bytes = written * kSector;
  return !device.name.empty();
}

bool parse_net_line(std::string_view line, DeviceLine& device) noexcept {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;  // the two lines of headings have none
  std::string_view name = line.substr(0, colon), rest = line.substr(colon + 1);
  device.name = base::next_word(name);
  constexpr int kReceived = 0, kSent = 8;
  for (int i = 0; i <= kSent; ++i) {
    const std::string_view word = base::next_word(rest);
    if (i == kReceived && !base::parse_number(word, device.in_bytes)) return false;
    if (i == kSent && !base::parse_number(word, device.out_bytes)) return false;
  }
  return !device.name.empty() && device.in_bytes <= kMostTicks && device.out_bytes <= kMostTicks;
}

bool is_stacked_disk(std::string_view name) noexcept {
  for (const std::string_view prefix :
       {"loop", "ram", "zram", "dm-", "md", "bcache", "drbd", "zd"}) {
    if (name.starts_with(prefix) && name.size() > prefix.size() &&
        (is_digit(name[prefix.size()]) || name[prefix.size()] == '_')) {
      return true;
    }
  }
  // nvme0c1n1 is one path of the disk nvme0n1.
  return name.starts_with("nvme") && drop_digits(name.substr(4)).ends_with('n') &&
         name.find('c', 4) != std::string_view::npos;
}

bool is_partition_name(std::string_view name) noexcept {
  const std::string_view stem = drop_digits(name);
  if (stem.size() == name.size()) return false;
  for (const std::string_view prefix : {"sd", "hd", "vd", "xvd"}) {
    if (stem.starts_with(prefix) && stem.size() > prefix.size()) return true;
  }
  return stem.size() > 2 && stem.ends_with('p') && is_digit(stem[stem.size() - 2]);
}

std::uint32_t count_cpus(std::string_view list) noexcept {
  constexpr std::uint64_t kMostCpus = 1 << 20;
  std::uint64_t count = 0;
  while (!list.empty()) {
    std::string_view range = base::next_part(list, ',');
    const std::string_view first = base::next_part(range, '-');
    std::uint64_t from = 0, to = 0;
    if (!base::parse_number(first, from)) return 0;
    to = from;
    if (!range.empty() && !base::parse_number(range, to)) return 0;
    if (to < from || to >= kMostCpus) return 0;
    count = std::min(count + to - from + 1, kMostCpus);
  }
  return static_cast<std::uint32_t>(count);
}

std::string_view find_text(std::string_view text, std::string_view key) noexcept {
  while (!text.empty()) {
    std::string_view line = base::next_part(text, '\n');
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    const std::size_t colon = line.find_first_not_of(" \t");
    if (colon == std::string_view::npos || line[colon] != ':') continue;
    line.remove_prefix(colon + 1);
    const std::size_t from = line.find_first_not_of(" \t");
    return from == std::string_view::npos ? std::string_view() : line.substr(from);
  }
  return {};
}

}  // namespace genscope::probe

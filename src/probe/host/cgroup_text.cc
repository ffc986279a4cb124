#include "probe/host/cgroup_text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/file_reader.h"

namespace genscope::probe {
namespace {

struct Mount {
  bool v2 = false;
  std::string root, point;
  std::string options;  // of the superblock: a v1 hierarchy's controllers are among them
};

bool has_word(std::string_view list, std::string_view word) noexcept {
  while (!list.empty()) {
    if (base::next_part(list, ',') == word) return true;
  }
  return false;
}

// mountinfo writes blank, tab, newline and backslash as three octal digits.
std::string unescape(std::string_view text) {
  std::string out;
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) &&
        octal(text[i + 3])) {
      const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      out += static_cast<char>(code & 0xFF);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw"
std::vector<Mount> cgroup_mounts(std::string_view text, const std::string& sys_root) {
  constexpr std::size_t kMaxMounts = 256;
  std::vector<Mount> mounts;
  while (!text.empty() && mounts.size() < kMaxMounts) {
    std::string_view line = base::next_part(text, '\n');
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view kind = line.substr(dash + 3);
    const std::string_view type = base::next_word(kind);
    if (type != "cgroup" && type != "cgroup2") continue;
    base::next_word(kind);  // source
    Mount mount{type == "cgroup2", "", "", std::string(base::next_word(kind))};
    for (int i = 0; i < 3; ++i) base::next_word(line);
    mount.root = unescape(base::next_word(line));
    mount.point = unescape(base::next_word(line));
    if (mount.root.empty() || mount.point.empty()) continue;
    if (mount.point.starts_with("/sys/")) mount.point = sys_root + mount.point.substr(4);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

bool leads_up(std::string_view path) noexcept {
  while (!path.empty()) {
    if (base::next_part(path, '/') == "..") return true;
  }
  return false;
}

CgroupPlace place_of(const Mount& mount, std::string_view path) {
  CgroupPlace place{mount.v2, mount.point, mount.point, std::string(path)};
  std::string_view below = path;
  const std::string_view root = mount.root == "/" ? std::string_view() : mount.root;
  if (!below.starts_with(root) || leads_up(path)) return place;
  below.remove_prefix(root.size());
  if (below.empty() || below == "/" || below[0] != '/') return place;
  place.folder += below;
  while (place.folder.size() > place.mount.size() && place.folder.ends_with('/')) {
    place.folder.pop_back();
  }
  return place;
}

}  // namespace

CgroupPlaces find_cgroups(std::string_view cgroup_text, std::string_view mountinfo_text,
                          const std::string& sys_root) {
  const std::vector<Mount> mounts = cgroup_mounts(mountinfo_text, sys_root);
  CgroupPlaces places;
  bool v1 = false;
  for (std::string_view text = cgroup_text; !text.empty();) {
    std::string_view line = base::next_part(text, '\n');
    base::next_part(line, ':');
    const std::string_view controllers = base::next_part(line, ':');
    const std::string_view path = line;
    if (!path.starts_with('/')) continue;
    for (const Mount& mount : mounts) {
      if (controllers.empty()) {
        if (mount.v2 && !places.unified) places.unified = place_of(mount, path);
        continue;
      }
      if (mount.v2) continue;
      for (const auto& [name, place] :
           {std::pair("memory", &places.memory), std::pair("cpu", &places.cpu),
            std::pair("cpuacct", &places.cpuacct), std::pair("cpuset", &places.cpuset)}) {
        if (*place || !has_word(controllers, name) || !has_word(mount.options, name)) continue;
        *place = place_of(mount, path);
        v1 = true;
      }
    }
  }
  if (places.unified) {
    for (auto* const place : {&places.memory, &places.cpu, &places.cpuacct, &places.cpuset}) {
      if (!*place) *place = places.unified;
    }
  }
  if (v1 || places.unified) places.version = !v1 ? "v2" : places.unified ? "hybrid" : "v1";
  return places;
}

bool parse_cpu_max(std::string_view text, double& cores) noexcept {
  const std::string_view quota_word = base::next_word(text);
  std::uint64_t quota = 0, period = 0;
  if (!base::parse_number(base::next_word(text), period) || period == 0) return false;
  cores = 0;
  if (quota_word == "max") return true;
  if (!base::parse_number(quota_word, quota) || quota == 0) return false;
  cores = static_cast<double>(quota) / static_cast<double>(period);
  return true;
}

bool parse_memory_limit(std::string_view text, MemoryLimit& limit) noexcept {
  // v1 shows the largest signed number, rounded down to a page: 9223372036854771712 with 4 KiB.
  constexpr std::uint64_t kNone = 1ull << 62;
  std::uint64_t bytes = 0;
  const std::string_view word = base::next_word(text);
  limit = {};
  if (word == "max") return true;
  if (!base::parse_number(word, bytes)) return false;
  if (bytes < kNone) limit = {true, static_cast<double>(bytes)};
  return true;
}

}  // namespace genscope::probe

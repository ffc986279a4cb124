#include "probe/host/cgroup_limits.h"

#include <algorithm>
#include <cerrno>

#include "probe/host/read_status.h"
#include "probe/host/system_text.h"

namespace genscope::probe {
namespace {

constexpr std::size_t kMaxDepth = 64;

// The cgroup's folder, its parent's, ..., the mount's.
std::vector<std::string> with_ancestors(const CgroupPlace& place) {
  std::vector<std::string> folders{place.folder};
  while (folders.back().size() > place.mount.size() && folders.size() < kMaxDepth) {
    folders.push_back(folders.back().substr(0, folders.back().rfind('/')));
  }
  return folders;
}

bool is_missing(int error) noexcept { return error == ENOENT || error == ENODEV; }

}  // namespace

CgroupLimits::CgroupLimits(const CgroupPlaces& places, const std::string& online,
                           base::Files& files)
    : online_(online, files), has_cpu_(places.cpu || places.cpuset) {
  if (places.memory) {
    for (const std::string& folder : with_ancestors(*places.memory)) {
      if (places.memory->v2) {
        memory_.emplace_back(folder + "/memory.max", files);
        memory_.emplace_back(folder + "/memory.high", files);
      } else {
        memory_.emplace_back(folder + "/memory.limit_in_bytes", files);
      }
    }
  }
  if (places.cpu) {
    for (const std::string& folder : with_ancestors(*places.cpu)) {
      if (places.cpu->v2) {
        cpu_max_.emplace_back(folder + "/cpu.max", files);
      } else {
        quotas_.push_back({base::KeptFile(folder + "/cpu.cfs_quota_us", files),
                           base::KeptFile(folder + "/cpu.cfs_period_us", files)});
      }
    }
  }
  if (places.cpuset) {
    for (const std::string& folder : with_ancestors(*places.cpuset)) {
      cpusets_.emplace_back(
          folder + (places.cpuset->v2 ? "/cpuset.cpus.effective" : "/cpuset.effective_cpus"),
          files);
      if (!places.cpuset->v2) cpusets_.emplace_back(folder + "/cpuset.cpus", files);
    }
  }
}

void CgroupLimits::sample_memory(Board& board, std::uint32_t series) noexcept {
  bool any = false;
  MemoryLimit least;
  for (base::KeptFile& file : memory_) {
    char buffer[64];
    std::string_view text;
    MemoryLimit limit;
    int error = file.read(buffer, text);
    if (is_missing(error)) continue;  // the top has none
    if (error == 0 && !parse_memory_limit(text, limit)) error = EINVAL;
    if (error != 0) return set_failure(board, series, error);
    any = true;
    if (limit.limited && (!least.limited || limit.bytes < least.bytes)) least = limit;
  }
  if (least.limited) return board.set(series, least.bytes);
  board.set(series, SampleStatus::absent, any ? "no limit" : "no memory controller here");
}

int CgroupLimits::read_cores(base::KeptFile& file, double& cores) noexcept {
  char buffer[64];
  std::string_view text;
  const int error = file.read(buffer, text);
  if (error != 0) return error;
  return parse_cpu_max(text, cores) ? 0 : EINVAL;
}

int CgroupLimits::read_cores(Quota& files, double& cores) noexcept {
  double quota = 0, period = 0;
  if (const int error = files.quota.read_number(quota); error != 0) return error;
  cores = 0;
  if (quota <= 0) return 0;  // -1: none
  if (const int error = files.period.read_number(period); error != 0) return error;
  if (period <= 0) return EINVAL;
  cores = quota / period;
  return 0;
}

int CgroupLimits::least_quota(double& cores) noexcept {
  cores = 0;
  const auto take = [&](auto& source) {
    double here = 0;
    const int error = read_cores(source, here);
    if (error != 0) return is_missing(error) ? 0 : error;
    if (here > 0 && (cores == 0 || here < cores)) cores = here;
    return 0;
  };
  for (base::KeptFile& file : cpu_max_) {
    if (const int error = take(file); error != 0) return error;
  }
  for (Quota& files : quotas_) {
    if (const int error = take(files); error != 0) return error;
  }
  return 0;
}

std::uint32_t CgroupLimits::cpuset_cpus() noexcept {
  char buffer[1024];
  std::string_view text;
  std::uint32_t allowed = 0;
  for (base::KeptFile& file : cpusets_) {
    if (file.read(buffer, text) == 0 && (allowed = count_cpus(text)) > 0) break;
  }
  const std::uint32_t online = online_.read(buffer, text) == 0 ? count_cpus(text) : 0;
  return online > 0 && allowed >= online ? 0 : allowed;
}

void CgroupLimits::sample_cpu(Board& board, std::uint32_t series) noexcept {
  if (!has_cpu_) return board.set(series, SampleStatus::absent, "no cpu controller here");
  double cores = 0;
  if (const int error = least_quota(cores); error != 0) return set_failure(board, series, error);
  const double cpus = cpuset_cpus();
  if (cpus > 0 && (cores == 0 || cpus < cores)) cores = cpus;
  if (cores > 0) return board.set(series, cores);
  board.set(series, SampleStatus::absent, "no limit");
}

}  // namespace genscope::probe

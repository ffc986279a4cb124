#include "probe/nvidia/process_list.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "base/process_stat.h"
#include "probe/nvidia/call_state.h"

namespace genscope::probe::nvml {

namespace {

constexpr std::size_t kMaxSamples = 1024;

// Fills name, parent and start from the stat file; false if there is no such process for us.
bool read_stat(const char* proc_root, base::Files& files, ProcessRow& row) noexcept {
  char path[512];
  const int length = std::snprintf(path, sizeof path, "%s/%u/stat", proc_root, row.pid);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return false;
  const base::UniqueFd fd(files.open(path));
  if (!fd.valid()) return false;
  char buffer[1024];
  const long size = files.read(fd.get(), path, buffer, sizeof buffer);
  if (size <= 0) return false;
  base::ProcessStat stat;
  if (!base::parse_stat({buffer, static_cast<std::size_t>(size)}, stat)) return false;
  const std::size_t kept = stat.name.copy(row.name, sizeof row.name - 1);
  row.name[kept] = '\0';
  row.parent = stat.parent;
  row.start = stat.start;
  return true;
}

auto key(const ProcessLists::Process& process) noexcept {
  return std::tuple(process.pid, process.gpu_instance, process.compute_instance);
}

// Of one process in one instance: the lists overlap, so the larger figure, not the sum.
std::uint64_t larger(std::uint64_t a, std::uint64_t b) noexcept {
  if (a == kAllOnes64) return b;
  if (b == kAllOnes64) return a;
  return std::max(a, b);
}

// Whether the process is `root` or has it among its ancestors.
bool descends(const ProcessRow& process, std::uint32_t root, bool descendants,
              const char* proc_root, base::Files& files) noexcept {
  constexpr int kMaxGenerations = 64;
  if (process.pid == root) return true;
  ProcessRow at = process;
  for (int i = 0; descendants && i < kMaxGenerations && at.parent > 1; ++i) {
    if (at.parent == root) return true;
    ProcessRow parent;
    parent.pid = at.parent;
    if (!read_stat(proc_root, files, parent)) return false;
    at = parent;
  }
  return false;
}

}  // namespace

std::size_t stride_of(std::span<const unsigned char> buffer, std::size_t count) noexcept {
  if (count == 0 || count * kStrideEarly535 > buffer.size()) return 0;
  std::size_t written = buffer.size();
  while (written > 0 && buffer[written - 1] == kPoison) written--;
  for (const std::size_t stride : {kStrideV2, kStrideEarly535}) {
    if (written > count * stride - stride + kStrideV1 && written <= count * stride) {
      // An entry starts with its pid: that of the last one must be there.
      const unsigned char* const last = buffer.data() + (count - 1) * stride;
      std::uint32_t pid = 0;
      std::memcpy(&pid, last, sizeof pid);
      if (pid != 0xAAAAAAAA) return stride;
    }
  }
  return 0;
}

void ProcessLists::open(const Api& api, std::uint32_t pid_max, bool ask_use) {
  api_ = &api;
  pid_max_ = pid_max;
  if (buffer_ == nullptr) {
    buffer_ = std::make_unique<unsigned char[]>(kMaxEntries * kStrideEarly535);
    merged_.reserve(3 * kMaxEntries);
    rows_.reserve(kMaxProcessRows);
  }
  std::fill(std::begin(version_), std::end(version_), 3);
  stride_v3_ = 0;
  entries_ = kFirstEntries;
  last_seen_us_ = 0;
  const bool can = ask_use && api.process_utilization != nullptr;
  use_ = can ? Use::unknown : Use::none;
  if (can) samples_.resize(kMaxSamples);
}

Return ProcessLists::fetch(DeviceHandle device) noexcept {
  merged_.clear();
  Return worst = kNotSupported;
  bool any = false;
  for (std::size_t list = 0; list < 3; ++list) {
    const Return code = version_[list] > 0 ? fetch_list(device, list) : Return{kNotSupported};
    any = any || code == kSuccess;
    if (device_gone(code) || code == kUninitialized) return code;
    if (!unsupported(code)) worst = code;
  }
  if (!any) return worst;
  merge();
  if (use_ != Use::none) fetch_use(device);
  return kSuccess;
}

Return ProcessLists::fetch_list(DeviceHandle device, std::size_t list) noexcept {
  const ProcessCall calls[] = {api_->processes_v1[list], api_->processes_v2[list],
                               api_->processes_v3[list]};
  while (version_[list] > 0) {
    const ProcessCall call = calls[version_[list] - 1];
    std::size_t count = 0;
    Return code =
        call != nullptr ? fetch_version(device, call, list, count) : Return{kFunctionNotFound};
    if (code == kSuccess) code = take(count);
    if (!older_version_may_do(code)) {
      if (code == kNotSupported) version_[list] = 0;
      return code;
    }
    version_[list]--;
  }
  return kNotSupported;
}

// One list by one version of the call, into buffer_. The list may grow between two calls.
Return ProcessLists::fetch_version(DeviceHandle device, ProcessCall call, std::size_t list,
                                   std::size_t& count) noexcept {
  for (int tries = 0; tries < kTries; ++tries) {
    if (version_[list] == 3) std::memset(buffer_.get(), kPoison, entries_ * kStrideEarly535);
    auto number = static_cast<std::uint32_t>(entries_);
    const Return code = call(device, &number, buffer_.get());
    if (code == kInsufficientSize && entries_ < kMaxEntries) {
      entries_ = std::min<std::size_t>(2 * std::size_t{number} + 5, kMaxEntries);
      continue;
    }
    if (code != kSuccess) return code;
    count = std::min<std::size_t>(number, entries_);
    if (version_[list] == 3 && count > 0 && stride_v3_ == 0 && !learn_stride(count)) {
      return kArgumentVersionMismatch;
    }
    const std::size_t stride =
        version_[list] == 1 ? kStrideV1
                            : (version_[list] == 3 && stride_v3_ != 0 ? stride_v3_ : kStrideV2);
    for (std::size_t i = 0; i < count; ++i) {
      ProcessInfoV2 entry{};
      std::memcpy(&entry, buffer_.get() + i * stride, std::min(stride, sizeof entry));
      const bool instances = version_[list] != 1;
      if (merged_.size() == merged_.capacity()) break;
      merged_.push_back({entry.pid, instances ? entry.gpu_instance : kAllOnes32,
                         instances ? entry.compute_instance : kAllOnes32, entry.used_bytes,
                         kAllOnes32});
    }
    return kSuccess;
  }
  return kInsufficientSize;
}

bool ProcessLists::learn_stride(std::size_t count) noexcept {
  stride_v3_ = stride_of({buffer_.get(), entries_ * kStrideEarly535}, count);
  return stride_v3_ != 0;
}

// Refuses a list with a pid that cannot be: then the layout is not what we take it for.
Return ProcessLists::take(std::size_t count) noexcept {
  const std::size_t first = merged_.size() - std::min(count, merged_.size());
  for (std::size_t i = first; i < merged_.size(); ++i) {
    if (merged_[i].pid == 0 || merged_[i].pid > pid_max_) {
      merged_.resize(first);
      stride_v3_ = 0;
      return kArgumentVersionMismatch;
    }
  }
  return kSuccess;
}

void ProcessLists::merge() noexcept {
  std::sort(merged_.begin(), merged_.end(),
            [](const Process& a, const Process& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < merged_.size(); ++i) {
    if (kept > 0 && key(merged_[kept - 1]) == key(merged_[i])) {
      merged_[kept - 1].bytes = larger(merged_[kept - 1].bytes, merged_[i].bytes);
    } else {
      merged_[kept++] = merged_[i];
    }
  }
  merged_.resize(kept);
  // A process in several instances of a MIG parent is one row, with the sum.
  kept = 0;
  for (std::size_t i = 0; i < merged_.size(); ++i) {
    if (kept > 0 && merged_[kept - 1].pid == merged_[i].pid) {
      std::uint64_t& sum = merged_[kept - 1].bytes;
      const std::uint64_t more = merged_[i].bytes;
      sum = sum == kAllOnes64 || more == kAllOnes64 ? kAllOnes64 : sum + more;
    } else {
      merged_[kept++] = merged_[i];
    }
  }
  merged_.resize(kept);
}

// The driver lists only processes that did something since `last_seen_us_`: of the others it is
// known, after a success, that they did nothing.
void ProcessLists::fetch_use(DeviceHandle device) noexcept {
  auto count = static_cast<std::uint32_t>(samples_.size());
  use_code_ = api_->process_utilization(device, samples_.data(), &count, last_seen_us_);
  use_ = use_code_ == kSuccess ? Use::known : Use::unknown;
  if (unsupported(use_code_)) use_ = Use::none;
  if (use_ != Use::known) return;
  std::uint64_t newest = last_seen_us_;
  for (Process& process : merged_) {
    std::uint64_t stamp = 0;
    process.use_percent = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(count, samples_.size()); ++i) {
      const ProcessUtilizationSample& sample = samples_[i];
      newest = std::max(newest, sample.stamp_us);
      // Old stamps and figures above 100 occur; they are not of this window.
      if (sample.pid != process.pid || sample.stamp_us <= last_seen_us_) continue;
      if (sample.sm > 100 || sample.stamp_us < stamp) continue;
      stamp = sample.stamp_us;
      process.use_percent = sample.sm;
    }
  }
  last_seen_us_ = newest;
}

std::span<const ProcessRow> ProcessLists::rows(const char* proc_root, base::Files& files) noexcept {
  std::sort(merged_.begin(), merged_.end(), [](const Process& a, const Process& b) {
    const std::uint64_t left = a.bytes == kAllOnes64 ? 0 : a.bytes;
    const std::uint64_t right = b.bytes == kAllOnes64 ? 0 : b.bytes;
    return left != right ? left > right : a.pid < b.pid;
  });
  rows_.clear();
  for (const Process& process : merged_) {
    if (rows_.size() == kMaxProcessRows) break;
    ProcessRow& row = rows_.emplace_back();
    row.pid = process.pid;
    row.visible = read_stat(proc_root, files, row);
    row.cpu_ns = row.rss_bytes = {0, SampleStatus::not_supported, "not asked of the driver", 0};
    row.gpu_memory_bytes = {0, SampleStatus::not_supported,
                            "the driver does not tell the memory of this process", 0};
    if (process.bytes != kAllOnes64) {
      row.gpu_memory_bytes = {static_cast<double>(process.bytes), SampleStatus::ok, nullptr, 0};
    }
    row.gpu_busy_ratio = {0, SampleStatus::not_supported,
                          "the driver does not tell the use of each process here", 0};
    if (use_ == Use::unknown) {
      row.gpu_busy_ratio = {0, SampleStatus::pending, "no new samples of the driver", 0};
      if (use_code_ == kNoPermission) {
        row.gpu_busy_ratio = {0, SampleStatus::not_permitted, "the driver wants more rights", 0};
      }
    }
    if (process.use_percent != kAllOnes32) {
      row.gpu_busy_ratio = {process.use_percent / 100.0, SampleStatus::ok, nullptr, 0};
    }
  }
  return rows_;
}

Reading ProcessLists::tree_memory(std::uint32_t root, bool descendants, const char* proc_root,
                                  base::Files& files) const noexcept {
  double sum = 0;
  bool ours = false, unseen = false;
  for (const ProcessRow& row : rows_) {
    unseen |= !row.visible;
    if (!row.visible || !descends(row, root, descendants, proc_root, files)) continue;
    if (row.gpu_memory_bytes.status != SampleStatus::ok) return row.gpu_memory_bytes;
    ours = true;
    sum += row.gpu_memory_bytes.value;
  }
  if (unseen && !ours) {
    return {0, SampleStatus::absent, "the driver names processes that we cannot see", 0};
  }
  return {sum, SampleStatus::ok, nullptr, 0};
}

}  // namespace genscope::probe::nvml

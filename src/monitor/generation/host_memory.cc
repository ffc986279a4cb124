// Two locks, because the GPU's reading may take milliseconds and that of /proc microseconds. A step
// that finds the GPU being read by another generation goes on without: a reading a moment later is
// as good. Only the start and the end of a generation wait.
//
// CUDA_VISIBLE_DEVICES renumbers devices: "cuda:1" is the driver's device that stands second there.
#include "monitor/generation/host_memory.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include "base/clock.h"

namespace genscope::monitor {

namespace {

void raise(std::optional<double>& peak, std::optional<double> value) noexcept {
  if (value && (!peak || *value > *peak)) peak = value;
}

// "MemTotal:  16384 kB" of a meminfo, in bytes.
std::optional<double> entry(std::string_view text, std::string_view key) noexcept {
  while (!text.empty()) {
    std::string_view line = base::next_part(text, '\n');
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    std::uint64_t kib = 0;
    if (!base::parse_number(base::next_word(line), kib)) return std::nullopt;
    return static_cast<double>(kib) * 1024;
  }
  return std::nullopt;
}

std::optional<std::size_t> number(std::string_view text) noexcept {
  std::size_t value = 0;
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// The driver's number of CUDA's device `n`. UUIDs in the list are left alone: then `n` stands.
std::size_t visible(std::size_t n) noexcept {
  const char* const list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) return n;
  std::string_view rest = list;
  for (std::size_t i = 0; !rest.empty(); ++i) {
    const std::string_view word = base::next_part(rest, ',');
    if (i == n) return number(word).value_or(n);
  }
  return n;
}

}  // namespace

HostMemory::HostMemory(const ProbeOptions& options, bool gpu)
    : options_(memory_only(options)), want_gpu_(gpu), meminfo_(options.proc_root + "/meminfo") {}
HostMemory::~HostMemory() = default;

std::optional<double> HostMemory::rss_bytes() noexcept {
  const std::optional<std::uint64_t> bytes = process_.resident_bytes();
  return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}

std::optional<MachineMemory> HostMemory::system() noexcept {
  std::array<char, 4096> buffer;
  std::string_view text;
  const std::lock_guard lock(files_mutex_);
  if (meminfo_.read(buffer, text) != 0) return std::nullopt;
  const auto total = entry(text, "MemTotal:"), available = entry(text, "MemAvailable:");
  if (!total || !available || *total <= 0) return std::nullopt;
  return MachineMemory{*total - *available, *total};
}

void HostMemory::open_gpu() {
  if (gpu_open_) return;
  gpu_open_ = true;
  if (!want_gpu_) {
    gpu_absent_ = "not asked for (gpu_memory is off)";
    return;
  }
  board_ = std::make_unique<GpuBoard>();
  for (const std::string_view name : gpu_probes()) {
    auto probe = make_probe(name, options_);
    if (!probe) continue;
    const ProbeState state = (*probe)->open(*board_);
    if (state.kind != ProbeState::Kind::works) {
      if (gpu_absent_.empty()) gpu_absent_ = state.reason;
      continue;
    }
    // What does not change is among what is read seldom.
    (*probe)->sample(Tier::slow, base::monotonic_ns(), *board_);
    probes_.push_back(*std::move(probe));
  }
  if (board_->gpus.empty()) {
    probes_.clear();
    if (gpu_absent_.empty()) gpu_absent_ = "no GPU was found";
  } else {
    gpu_absent_.clear();
  }
}

std::size_t HostMemory::chosen(const std::string& device) const noexcept {
  const std::size_t colon = device.rfind(':');
  const std::string_view digits =
      colon == std::string::npos ? std::string_view() : std::string_view(device).substr(colon + 1);
  const std::size_t at = visible(number(digits).value_or(0));
  return at < board_->gpus.size() ? at : 0;
}

GpuIdentity HostMemory::gpu(const std::string& device) {
  const std::lock_guard lock(gpu_mutex_);
  open_gpu();
  GpuIdentity identity;
  if (probes_.empty()) {
    identity.absent = gpu_absent_;
    return identity;
  }
  const Entity& entity = board_->gpus[chosen(device)].entity;
  identity.name = entity.name;
  for (const auto& [key, value] : entity.facts) {
    if (key == "driver") identity.driver = value;
  }
  return identity;
}

void HostMemory::read(const std::string& device, bool wait, MemoryPeaks& peaks) noexcept {
  raise(peaks.rss, rss_bytes());
  if (!want_gpu_) return;
  std::unique_lock lock(gpu_mutex_, std::defer_lock);
  if (wait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;
  }
  if (probes_.empty()) return;
  for (const auto& probe : probes_) probe->sample(Tier::fast, base::monotonic_ns(), *board_);
  const GpuBoard::Gpu& gpu = board_->gpus[chosen(device)];
  raise(peaks.gpu_used, gpu.used);
  raise(peaks.gpu_total, gpu.total);
}

}  // namespace genscope::monitor

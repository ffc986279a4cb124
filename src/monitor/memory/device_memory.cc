#include "monitor/memory/device_memory.h"

#include <fmt/format.h>

#include <vector>

#include "base/clock.h"

namespace genscope::monitor {

// A Board that keeps one number: the memory in use of the nth GPU that is added.
class DeviceMemory::Cell final : public Board {
 public:
  explicit Cell(int wanted) : wanted_(wanted) {}

  std::uint32_t add_entity(const Entity& entity) override {
    for (std::uint32_t i = 0; i < entities_.size(); ++i) {
      if (entities_[i].id == entity.id) return i;
    }
    const bool gpu = entity.kind == EntityKind::gpu;
    entities_.push_back({entity.id, gpu ? gpus_ : -1});
    if (gpu) gpus_++;
    return static_cast<std::uint32_t>(entities_.size() - 1);
  }
  std::uint32_t add_series(std::uint32_t entity, const Metric& metric, Tier,
                           std::string_view) override {
    const bool ours = entity < entities_.size() && entities_[entity].gpu == wanted_ &&
                      metric.id == "memory_used_bytes";
    if (ours) entity_ = entity;
    return ours ? kSeries : kNoSeries;
  }
  void set(std::uint32_t series, double number) noexcept override {
    if (series == kSeries && number >= 0) value = static_cast<std::uint64_t>(number);
  }
  void set(std::uint32_t series, SampleStatus, const char*) noexcept override {
    if (series == kSeries) value.reset();
  }
  void set_all(std::uint32_t entity, SampleStatus, const char*) noexcept override {
    if (entity == entity_) value.reset();
  }
  void event(std::uint32_t, std::string_view, std::string_view) noexcept override {}
  void set_processes(std::uint32_t, std::span<const ProcessRow>) noexcept override {}

  int gpus() const noexcept { return gpus_; }
  bool has_series() const noexcept { return entity_ != kNoSeries; }

  std::optional<std::uint64_t> value;

 private:
  static constexpr std::uint32_t kSeries = 1;
  struct Known {
    std::string id;
    int gpu;  // its number; -1: not a GPU
  };
  int wanted_;
  int gpus_ = 0;
  std::uint32_t entity_ = kNoSeries;
  std::vector<Known> entities_;
};

DeviceMemory::DeviceMemory(int device) {
  ProbeOptions options = probe_options_from_environment();
  options.gpu_utilization = options.gpu_temperature = options.gpu_power = false;
  options.gpu_processes = options.gpu_counters = false;
  int found = 0;
  for (const char* const name : {"nvml", "amdgpu", "intel"}) {
    Result<std::unique_ptr<Probe>> probe = make_probe(name, options);
    if (!probe) continue;
    auto cell = std::make_unique<Cell>(device - found);
    (*probe)->open(*cell);
    found += cell->gpus();
    if (!cell->has_series()) continue;
    cell_ = std::move(cell);
    probe_ = std::move(probe).value();
    return;
  }
  if (device >= 0 && device < found) {
    reason_ = fmt::format("GPU {} does not tell its memory", device);
  } else if (found > 0) {
    reason_ = fmt::format("there is no GPU {}: {} found, counted from 0", device, found);
  } else {
    reason_ = "no GPU was found; `genscope doctor` says what was looked for";
  }
}

DeviceMemory::~DeviceMemory() = default;

std::optional<std::uint64_t> DeviceMemory::used_bytes() noexcept {
  if (probe_ == nullptr) return std::nullopt;
  const std::lock_guard lock(mutex_);
  probe_->sample(Tier::fast, base::monotonic_ns(), *cell_);
  return cell_->value;
}

}  // namespace genscope::monitor

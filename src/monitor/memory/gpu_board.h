// The Board on which probes put the memory of GPUs, and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <genscope/probe.h>

namespace genscope::monitor {

class GpuBoard final : public Board {
 public:
  struct Gpu {
    Entity entity;
    bool tells_used = false;            // whether its driver tells it at all
    std::optional<double> used, total;  // bytes
  };
  std::vector<Gpu> gpus;  // in the order in which they were found

  std::uint32_t add_entity(const Entity& entity) override;
  std::uint32_t add_series(std::uint32_t entity, const Metric& metric, Tier tier,
                           std::string_view source) override;
  void set(std::uint32_t series, double value) noexcept override { put(series, value); }
  void set(std::uint32_t series, SampleStatus, const char*) noexcept override { put(series, {}); }
  void set_all(std::uint32_t entity, SampleStatus, const char*) noexcept override;
  void event(std::uint32_t, std::string_view, std::string_view) noexcept override {}
  void set_processes(std::uint32_t, std::span<const ProcessRow>) noexcept override {}

 private:
  void put(std::uint32_t series, std::optional<double> value) noexcept;
};

// The same options, with all that probes of GPUs read besides memory switched off.
ProbeOptions memory_only(ProbeOptions options);

}  // namespace genscope::monitor

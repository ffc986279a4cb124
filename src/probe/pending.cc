// Weak stand-ins until the branches with the real probes are merged; removed with the last merge.
#include "probe/builtin.h"

namespace genscope::probe {
namespace {
class Pending final : public Probe {
 public:
  std::string_view name() const noexcept override { return "pending"; }
  ProbeState open(Board&) override { return {ProbeState::Kind::absent, "not merged yet", ""}; }
  void sample(Tier, std::int64_t, Board&) noexcept override {}
};
}  // namespace
#define GENSCOPE_PENDING(make)                                                           \
  __attribute__((weak)) std::unique_ptr<Probe> make(const ProbeOptions&, base::Files&) { \
    return std::make_unique<Pending>();                                                  \
  }
GENSCOPE_PENDING(make_process_probe)
GENSCOPE_PENDING(make_system_probe)
GENSCOPE_PENDING(make_cgroup_probe)
GENSCOPE_PENDING(make_rapl_probe)
GENSCOPE_PENDING(make_nvml_probe)
GENSCOPE_PENDING(make_amdgpu_probe)
GENSCOPE_PENDING(make_intel_probe)
}  // namespace genscope::probe

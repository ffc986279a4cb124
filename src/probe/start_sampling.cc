// Probes as trace/sampling.h asks for them. Nothing calls this file by name, so a static library
// would leave it out: cmake/Library.cmake has the linker ask for genscope_link_probes.
#include <unistd.h>

#include <algorithm>

#include "genscope/probe.h"
#include "trace/sampling.h"

namespace genscope::probe {
namespace {

struct RunningSampler {
  RunningSampler(std::unique_ptr<SampleSink> into, const SamplerOptions& options)
      : sink(std::move(into)), sampler(options) {}
  std::unique_ptr<SampleSink> sink;
  Sampler sampler;  // after its sink: it goes first
};

std::shared_ptr<void> start_sampling(const trace::SamplingPlan& plan,
                                     std::unique_ptr<SampleSink> sink,
                                     std::vector<std::string>& errors) {
  SamplerOptions options;
  options.fast_ns =
      static_cast<std::int64_t>(std::clamp(plan.interval_seconds, 0.001, 3600.0) * 1e9);
  options.normal_ns = std::max(options.normal_ns, options.fast_ns);
  options.slow_ns = std::max(options.slow_ns, options.normal_ns);
  options.budget_ratio = plan.budget_ratio;
  options.sink = sink.get();
  ProbeOptions wanted = probe_options_from_environment();
  wanted.gpu_memory = plan.gpu_memory;
  wanted.gpu_utilization = plan.gpu_utilization;
  wanted.gpu_temperature = plan.gpu_temperature;
  wanted.gpu_power = plan.gpu_power;
  auto sampling = std::make_unique<RunningSampler>(std::move(sink), options);
  for (const std::string& name : plan.probes) {
    Result<std::unique_ptr<Probe>> probe = make_probe(name, wanted);
    if (probe.ok()) {
      sampling->sampler.add(std::move(*probe));
    } else {
      errors.push_back(probe.error().message);
    }
  }
  if (Status started = sampling->sampler.start(); !started.ok()) {
    errors.push_back(started.error().message);
    return nullptr;
  }
  // A forked child has no sampler thread: there, to wait for it would be to wait for ever.
  const pid_t owner = ::getpid();
  return {sampling.release(), [owner](void* p) {
            if (::getpid() == owner) delete static_cast<RunningSampler*>(p);
          }};
}

class ProbeSampling final : public trace::Sampling {
 public:
  std::shared_ptr<void> start(const trace::SamplingPlan& plan, std::unique_ptr<SampleSink> sink,
                              std::vector<std::string>& errors) const override {
    return start_sampling(plan, std::move(sink), errors);
  }
};
constinit const ProbeSampling kProbeSampling;

[[maybe_unused]] const bool kRegistered = (trace::register_sampling(kProbeSampling), true);

}  // namespace
}  // namespace genscope::probe

extern "C" void genscope_link_probes() {}

// What a session needs of probes, as an interface: `record` asks for it, `probe` registers one, and
// neither includes the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <genscope/trace.h>

namespace genscope::trace {

struct SamplingPlan {
  std::vector<std::string> probes;  // by name; unknown ones are left out and told in `errors`
  double interval_seconds = 0.1;    // of the fast tier
  double budget_ratio = 0.001;
  bool gpu_memory = true, gpu_utilization = true, gpu_temperature = true, gpu_power = true;
};

class Sampling {
 public:
  // Samples this process into `sink` until the last copy of the result is gone. In a forked child
  // the copies do nothing. Null if nothing could be started.
  virtual std::shared_ptr<void> start(const SamplingPlan& plan, std::unique_ptr<SampleSink> sink,
                                      std::vector<std::string>& errors) const = 0;

 protected:
  ~Sampling() = default;  // not deleted through this: sessions outlive static destruction
};

// Null: no probes are linked into this program. Any thread.
const Sampling* registered_sampling() noexcept;
// `sampling` stays for ever.
void register_sampling(const Sampling& sampling) noexcept;

}  // namespace genscope::trace

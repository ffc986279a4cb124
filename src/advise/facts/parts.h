// The parts of facts_of(): each reads one subject of a run. What was not measured is said to be
// missing, with the reason; nothing is set that was not seen.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/trace.h>

namespace genscope::advice {

// A stretch of time on the scale of Analysis::begin_ns' process.
struct Stretch {
  std::int64_t begin_ns = 0, end_ns = 0;
  bool holds(std::int64_t at_ns) const noexcept { return at_ns >= begin_ns && at_ns <= end_ns; }
};

// The steps of the process that has most of them, in the order of time.
struct Steps {
  std::size_t trace = 0;  // index into Run::traces
  std::vector<std::uint32_t> spans;
  std::vector<double> ms;
  Stretch all, steady;  // "steady" here: from the third on

  static constexpr std::size_t kFirstSteady = 2;
  std::span<const double> steady_ms() const noexcept {
    return std::span(ms).subspan(std::min(ms.size(), kFirstSteady));
  }
};
Steps find_steps(const Run& run, const Analysis& analysis);

void stage_facts(const Run& run, const Analysis& analysis, Facts& facts);
void step_facts(const Run& run, const Analysis& analysis, const Steps& steps, Facts& facts);
void call_facts(const Run& run, const Steps& steps, Facts& facts);  // after step_facts()
void target_facts(const Run& run, Facts& facts);
// Blocks, streams, layers, training and requests.
void generation_facts(const Run& run, const Analysis& analysis, Facts& facts);
void gpu_facts(const Run& run, const Analysis& analysis, const Steps& steps, Facts& facts);
void host_facts(const Run& run, const Analysis& analysis, const Steps& steps, Facts& facts);
void resource_facts(const Run& run, const Analysis& analysis, const Steps& steps, Facts& facts);
// After resource_facts(): GPU time in the spans says more than where the host waits.
void wait_facts(const Run& run, const Analysis& analysis, Facts& facts);
void load_facts(const Run& run, Facts& facts);
// Of a run whose traces are ranks: who waits for whom.
void rank_facts(const Run& run, Facts& facts);
// What the program itself says as arguments of its session: "set.offload", or just "offload".
void given_facts(const Run& run, Facts& facts);

// Of several GPUs the one that was busiest; null if there is none.
const EntityRow* busiest_gpu(const Telemetry& telemetry);

// The key of a stage in facts: "vae_decode" for all that programs call it.
std::string_view stage_key(SpanKind kind, std::string_view name) noexcept;

// The argument of a span as a value; nothing if it has none of that key.
std::optional<FactValue> argument(const Trace& trace, std::size_t span, std::string_view key);

// Readings of a series of one entity ("<entity>/<metric>"), on the scale of `Stretch`.
struct Readings {
  std::vector<double> at_s, value;
};
Readings readings(const Run& run, const Analysis& analysis, std::string_view entity,
                  std::string_view metric, const Stretch& within);

}  // namespace genscope::advice

// A probe of one's own: samples the length of a work queue beside the built-in probes. What it
// reads is in the run, with its unit: in every report, on the page and in /metrics of `genscope
// serve`.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include <genscope/probe.h>
#include <genscope/record.h>

namespace {

std::atomic<int> queue_length{0};

// Outlives every sampler, as a metric must.
constexpr genscope::Metric kQueueLength{
    "queue_length", "requests", "Requests that wait", genscope::MetricKind::gauge, 0, 1e6};

class QueueProbe final : public genscope::Probe {
 public:
  std::string_view name() const noexcept override { return "queue"; }

  genscope::ProbeState open(genscope::Board& board) override {
    const auto queue = board.add_entity({genscope::EntityKind::other, "queue", "work queue", {}});
    series_ = board.add_series(queue, kQueueLength, genscope::Tier::fast, "the queue itself");
    return {};
  }

  void sample(genscope::Tier tier, std::int64_t, genscope::Board& board) noexcept override {
    if (tier == genscope::Tier::fast) board.set(series_, queue_length.load());
  }

 private:
  std::uint32_t series_ = genscope::kNoSeries;
};

}  // namespace

int main() {
  const genscope::Session session{"own_probe"};  // opens a run, or joins that of `genscope run`
  const auto sink = genscope::make_recording_sink();
  genscope::SamplerOptions options;
  options.fast_ns = 10'000'000;
  options.sink = sink.get();
  genscope::Sampler sampler(options);
  sampler.add(std::make_unique<QueueProbe>());
  auto process = genscope::make_probe("process");
  if (!process) return 1;
  sampler.add(std::move(*process));
  if (const genscope::Status started = sampler.start(); !started) {
    std::fprintf(stderr, "%s\n", started.error().message.c_str());
    return 1;
  }
  for (int i = 0; i < 20; ++i) {
    queue_length = i % 5;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  sampler.stop();

  const genscope::Snapshot now = sampler.snapshot();
  for (const auto& series : now.series) {
    const std::string& entity = now.entities[series.entity].id;
    if (series.reading.status == genscope::SampleStatus::ok) {
      std::printf("%s/%s = %g %s\n", entity.c_str(), series.metric->id.data(), series.reading.value,
                  series.metric->unit.data());
    } else {
      std::printf("%s/%s: %s\n", entity.c_str(), series.metric->id.data(),
                  name(series.reading.status).data());
    }
  }
  return now.find(1, "queue_length") != nullptr ? 0 : 1;
}

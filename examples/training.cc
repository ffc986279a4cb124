// A training loop under both monitors of training: epochs and batches, and named operations.
#include <genscope/compat/monitor_config.h>
#include <genscope/record.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr const char* kSettings =
    "trainer_params:\n"
    "  enable_memory_monitoring: true\n"
    "  memory_monitor_batches: 2\n"
    "  batch_size: 32\n";

std::vector<float> load_batch(std::uint64_t index) {
  return std::vector<float>(20'000, 0.001f * static_cast<float>(index + 1));
}
float forward(const std::vector<float>& batch, float weight) {
  float sum = 0;
  for (const float x : batch) sum += std::fabs(std::sin(weight * x));
  return sum / static_cast<float>(batch.size());
}

}  // namespace

// [snippet main]
int main() {
  const auto config = genscope::parse_monitor_config(kSettings, "trainer.yaml");
  if (!config) {
    std::fprintf(stderr, "%s\n", config.error().message.c_str());
    return 1;
  }
  const genscope::Session session{"training"};  // optional: the run then holds all of it too
  genscope::EpochPerformanceMonitor epochs(genscope::epoch_monitor_options(*config));
  genscope::PerformanceMonitor operations(genscope::performance_monitor_options(*config));

  float weight = 1;
  for (int epoch = 0; epoch < 3; ++epoch) {
    epochs.on_epoch_start();
    for (std::uint64_t i = 0; i < 50; ++i) {
      const std::vector<float> batch = load_batch(i);  // between batches: waiting for data
      epochs.on_batch_start(i);
      float loss = 0;
      {
        const auto op = operations.track("batch_forward", true);  // true: statistics only
        loss = forward(batch, weight);
      }
      {
        const auto op = operations.track("batch_backward", true);
        weight -= 0.1f * loss;
      }
      epochs.on_batch_end(i, loss);
    }
    epochs.on_epoch_end();
  }
  auto save = operations.wrap("save", [&] { std::printf("weight %.3f\n", weight); });
  save();  // a function that is tracked at each call

  operations.print_summary();
  const genscope::EpochStatistics all = epochs.get_statistics();
  std::printf("%llu batches, data loading %.0f%%%s\n",
              static_cast<unsigned long long>(all.num_batches),
              100 * all.data_loading_share.value_or(0),
              all.high_variance ? ", high variance: look at the outliers" : "");
  return all.num_batches == 150 ? 0 : 1;
}
// [/snippet]

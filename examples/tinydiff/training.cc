#include "training.h"

#include <genscope/record.h>

namespace tinydiff {
namespace {

constexpr int kBatches = 6;   // of an epoch
constexpr int kEncodes = 20;  // that a cache would have spared, of a batch
constexpr double kRate = 0.25;
constexpr double kNoiseLevel = 0.5;

}  // namespace

double train(Pipeline& pipeline, const Options& options, const Spoil& spoil) {
  double gain = 0.0, loss = 0.0;
  for (int e = 0; e < options.epochs; ++e) {
    const genscope::Epoch epoch{"epoch", {{"index", e}}};
    for (int b = 0; b < kBatches; ++b) {
      genscope::Batch batch{"batch", {{"index", b}}};
      Latents clean;
      {
        GENSCOPE_STAGE("data_loading");
        clean = pipeline.prepare_latents(b, 1);
        if (spoil) spoil(Joint::input, b, [] {});
      }
      if (options.encode_in_training) {
        for (int i = 0; i < kEncodes; ++i) pipeline.encode_prompts();
      }
      const Tensor predicted = pipeline.predict(clean, kNoiseLevel, 0);
      const Tensor error = static_cast<float>(gain) * predicted - clean.images.data;
      const double power = predicted.squaredNorm() / static_cast<double>(predicted.size());
      loss = error.squaredNorm() / static_cast<double>(error.size());
      const double slope =
          2 * error.cwiseProduct(predicted).sum() / static_cast<double>(error.size());
      gain -= kRate * slope / (2 * power);
      batch.arg("loss", loss);
      genscope::counter("loss", loss);
    }
  }
  return loss;
}

}  // namespace tinydiff

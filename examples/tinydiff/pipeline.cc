#include "pipeline.h"

#include <genscope/record.h>

#include <algorithm>
#include <cmath>

namespace tinydiff {
namespace {

// The weights are part of the program, not of the request: --seed does not change them.
constexpr std::uint64_t kWeightSeed = 2024;
// Frames generated at once in a video.
constexpr Index kFramesPerBlock = 4;
// Part of the noise variance that the frames of a video have in common, so that they resemble one
// another.
constexpr double kSharedNoise = 0.8;

double root_mean_square(const Tensor& x) {
  double squares = 0.0;
  for (Index i = 0; i < x.size(); ++i) squares += static_cast<double>(x.data()[i]) * x.data()[i];
  return std::sqrt(squares / static_cast<double>(x.size()));
}

}  // namespace

struct Pipeline::Model {
  WeightSource source{kWeightSeed};
  TextEncoder text_encoder{source};
  std::unique_ptr<Denoiser> denoiser;
  VaeDecoder vae{source};

  explicit Model(const std::string& arch) : denoiser(make_denoiser(arch, source)) {}
};

Pipeline::Pipeline(const Options& options) : options_(options), pool_(options.threads) {
  {
    GENSCOPE_LOAD("load_model");
    model_ = std::make_unique<Model>(options.arch);
  }
  scheduler_ = make_scheduler(options.arch, options.steps);
  genscope::event("config", {{"arch", options.arch},
                             {"width", options.width},
                             {"height", options.height},
                             {"steps", options.steps},
                             {"batch", options.batch},
                             {"frames", options.frames},
                             {"guidance", options.guidance},
                             {"seed", options.seed},
                             {"threads", options.threads},
                             {"parameters", parameters()}});
}

Pipeline::~Pipeline() = default;

std::int64_t Pipeline::parameters() const { return model_->source.parameters(); }

void Pipeline::generate(const Sink& sink) {
  encode_prompts();
  if (options_.frames == 1) {
    generate_block(0, 1, sink);
    return;
  }
  for (Index first = 0; first < options_.frames; first += kFramesPerBlock) {
    const Index frames = std::min(kFramesPerBlock, options_.frames - first);
    const genscope::Block block{first / kFramesPerBlock, {{"frames", frames}}};
    generate_block(first, frames, sink);
  }
}

void Pipeline::encode_prompts() {
  genscope::Stage stage{"text_encoding"};
  const std::vector<int> ids = tokenize(options_.prompt);
  stage.arg("tokens", ids.size());
  branches_.clear();
  branches_.push_back({model_->text_encoder.encode(pool_, ids), {}});
  if (options_.guided()) {
    branches_.push_back({model_->text_encoder.encode(pool_, tokenize("")), {}});
  }
}

void Pipeline::generate_block(Index first_frame, Index frames, const Sink& sink) {
  Latents latents = prepare_latents(first_frame, frames);
  denoise(latents, first_frame);
  for (Index picture = 0; picture < latents.images.count; ++picture) {
    RgbImage image;
    {
      GENSCOPE_STAGE("vae_decode");
      image = model_->vae.decode(pool_, latents.images, picture);
    }
    sink(picture / frames, first_frame + picture % frames, image);
  }
  if (first_frame + frames < options_.frames) {
    GENSCOPE_STAGE("update_context");
    for (Branch& branch : branches_) {
      model_->denoiser->remember(pool_, latents, branch.text, branch.context, first_frame);
    }
  }
}

Latents Pipeline::prepare_latents(Index first_frame, Index frames) const {
  GENSCOPE_STAGE("prepare_latents");
  Latents latents{options_.batch, frames,
                  Images(options_.batch * frames, options_.height / kLatentScale,
                         options_.width / kLatentScale, kLatentChannels)};
  const Index values = latents.images.pixels() * kLatentChannels;
  const double shared = options_.frames > 1 ? kSharedNoise : 0.0;
  for (Index picture = 0; picture < latents.images.count; ++picture) {
    const auto sequence = static_cast<std::uint64_t>(picture / frames);
    const auto frame = static_cast<std::uint64_t>(first_frame + picture % frames);
    Rng common(options_.seed, sequence << 32);
    Rng own(options_.seed, (sequence << 32) + frame + 1);
    float* const out = latents.images.data.data() + picture * values;
    for (Index i = 0; i < values; ++i) {
      out[i] = static_cast<float>(std::sqrt(shared) * common.normal() +
                                  std::sqrt(1.0 - shared) * own.normal());
    }
  }
  return latents;
}

void Pipeline::denoise(Latents& latents, Index first_frame) {
  GENSCOPE_STAGE("denoising", GENSCOPE_ARG("steps", options_.steps));
  for (int i = 0; i < scheduler_->steps(); ++i) {
    const double noise_level = scheduler_->noise_level(i);
    const genscope::Step step{i, {{"noise_level", noise_level}}};
    const Tensor clean = predict(latents, noise_level, first_frame);
    {
      GENSCOPE_STAGE("scheduler_step");
      scheduler_->step(i, clean, latents.images.data);
    }
    genscope::counter("latent_rms", root_mean_square(latents.images.data));
  }
}

Tensor Pipeline::predict(const Latents& latents, double noise_level, Index first_frame) {
  const auto forward = [&](const Branch& branch) {
    GENSCOPE_FORWARD("denoiser_forward");
    return model_->denoiser
        ->predict(pool_, latents, noise_level, branch.text, branch.context, first_frame)
        .images.data;
  };
  const Tensor prompted = forward(branches_[0]);
  if (!options_.guided()) return prompted;
  const Tensor plain = forward(branches_[1]);
  return plain + static_cast<float>(options_.guidance) * (prompted - plain);
}

}  // namespace tinydiff

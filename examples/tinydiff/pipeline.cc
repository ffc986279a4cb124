#include "pipeline.h"

#include <genscope/record.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ranks.h"

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

Pipeline::Pipeline(const Options& options, Spoil spoil)
    : options_(options), spoil_(std::move(spoil)), pool_(options.threads) {
  load();
  scheduler_ = make_scheduler(options.arch, options.steps);
  say_config();
}

std::shared_ptr<const Pipeline::Model> Pipeline::load_model(const std::string& arch) {
  const genscope::Load span{"load_model", {{"file", kWeightsName}}};
  return std::make_shared<const Model>(arch);
}

Pipeline::Pipeline(const Options& options, std::shared_ptr<const Model> model)
    : options_(options),
      pool_(options.threads),
      model_(std::move(model)),
      scheduler_(make_scheduler(options.arch, options.steps)) {}

Pipeline::~Pipeline() = default;

std::int64_t Pipeline::parameters() const { return model_->source.parameters(); }

void Pipeline::load() {
  const genscope::Load span{"load_model", {{"file", kWeightsName}}};
  const auto make = [this] { model_ = std::make_shared<const Model>(options_.arch); };
  make();
  spoil(Joint::load, 0, make);
}

// The names are those of genscope's facts (docs/rules.md), so that rules know them.
void Pipeline::say_config() const {
  const auto tokens = [](Index width, Index height) { return width * height / 64; };
  genscope::event("config", {{"arch", options_.arch},
                             {"width", options_.width},
                             {"height", options_.height},
                             {"steps", options_.steps},
                             {"batch", options_.batch},
                             {"frames", options_.frames},
                             {"guidance", options_.guidance},
                             {"seed", options_.seed},
                             {"threads", options_.threads},
                             {"parameters", parameters()},
                             {"set.tokens", tokens(options_.width, options_.height)},
                             {"model.train_tokens", tokens(160, 160)},
                             {"text.tokens", tokenize(options_.prompt).size()},
                             {"text.padded", std::max<Index>(kTextTokens, options_.padded_tokens)},
                             {"model.experts", options_.experts},
                             {"model.distilled", options_.distilled},
                             {"set.training", options_.epochs > 0},
                             {"set.benchmark", options_.benchmark}});
  if (options_.target_seconds > 0) {
    genscope::event("config", {{"target_seconds", options_.target_seconds}});
  }
  if (options_.preview) {
    genscope::event("config", {{"set.preview_every", 1}, {"set.preview_method", "vae"}});
  }
}

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
    spoil(Joint::block, frames, [] {});
  }
}

void Pipeline::encode_prompts() {
  const genscope::Stage stage{"text_encoding", {{"prompt", options_.prompt}}};
  const std::vector<int> ids = tokenize(options_.prompt);
  stage.arg("tokens", ids.size());
  branches_.clear();
  branches_.push_back({model_->text_encoder.encode(pool_, ids), {}});
  if (options_.guided()) {
    branches_.push_back({model_->text_encoder.encode(pool_, tokenize("")), {}});
  }
  spoil(Joint::text, 0, [&] { branches_[0].text = model_->text_encoder.encode(pool_, ids); });
}

void Pipeline::generate_block(Index first_frame, Index frames, const Sink& sink) {
  Latents latents = prepare_latents(first_frame, frames);
  denoise(latents, first_frame);
  for (Index picture = 0; picture < latents.images.count; ++picture) {
    const RgbImage image = decode(latents.images, picture);
    const auto save = [&] { sink(picture / frames, first_frame + picture % frames, image); };
    save();
    spoil(Joint::save, picture, save);
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

RgbImage Pipeline::decode(const Images& latents, Index picture) {
  GENSCOPE_STAGE("vae_decode");
  const auto work = [&] { return model_->vae.decode(pool_, latents, picture); };
  spoil(Joint::decode, picture, work);
  return work();
}

void Pipeline::denoise(Latents& latents, Index first_frame) {
  GENSCOPE_STAGE("denoising", GENSCOPE_ARG("steps", options_.steps));
  for (int i = 0; i < scheduler_->steps(); ++i) denoise_step(i, latents, first_frame);
}

void Pipeline::denoise_step(int i, Latents& latents, Index first_frame) {
  const double noise_level = scheduler_->noise_level(i);
  const genscope::Step step{i, {{"noise_level", noise_level}}};
  step_ = i;
  spoil(Joint::step, i, [] {});
  if (options_.ranks > 1) get_input(i);
  const Tensor clean = predict(latents, noise_level, first_frame);
  {
    GENSCOPE_STAGE("scheduler_step");
    scheduler_->step(i, clean, latents.images.data);
    spoil(Joint::scheduler, i, [] {});
  }
  genscope::counter("latent_rms", root_mean_square(latents.images.data));
  if (options_.preview) {
    GENSCOPE_STAGE("preview");
    model_->vae.decode(pool_, latents.images, 0);
  }
  meet();
}

void Pipeline::begin_picture() {
  encode_prompts();
  picture_ = prepare_latents(0, 1);
  step_ = -1;
}

bool Pipeline::step_picture() {
  denoise_step(static_cast<int>(step_) + 1, picture_, 0);
  return step_ + 1 < scheduler_->steps();
}

RgbImage Pipeline::end_picture() { return decode(picture_.images, 0); }

// A rank's share of the data of a step.
void Pipeline::get_input(Index step) {
  GENSCOPE_STAGE("data_loading");
  prepare_latents(step, 1);
  spoil(Joint::input, step, [] {});
}

Tensor Pipeline::predict(const Latents& latents, double noise_level, Index first_frame) {
  const Images& images = latents.images;
  const std::string shape = std::to_string(images.count) + "x" + std::to_string(images.height) +
                            "x" + std::to_string(images.width);
  const auto forward = [&](const Branch& branch) {
    const genscope::Forward span{"denoiser_forward", {{"shape", shape}}};
    return model_->denoiser
        ->predict(pool_, latents, noise_level, branch.text, branch.context, first_frame)
        .images.data;
  };
  const Tensor prompted = forward(branches_[0]);
  spoil(Joint::forward, step_, [&] { forward(branches_[0]); });
  if (!options_.guided()) return prompted;
  const Tensor plain = forward(branches_[1]);
  return plain + static_cast<float>(options_.guidance) * (prompted - plain);
}

}  // namespace tinydiff

// The whole way from a prompt to pictures, marked with genscope: this is the file to read for how
// a C++ pipeline records its stages.
#pragma once

#include <functional>
#include <memory>

#include "denoiser.h"
#include "joint.h"
#include "options.h"
#include "pool.h"
#include "scheduler.h"
#include "text_encoder.h"
#include "vae.h"

namespace tinydiff {

inline constexpr const char* kWeightsName = "tinydiff-2024";  // the seed of the weights

class Pipeline {
 public:
  // Takes a finished picture. A picture arrives as soon as its block is decoded.
  using Sink = std::function<void(Index sequence, Index frame, const RgbImage& image)>;

  // Creates the weights. Spans are recorded if a genscope session is open.
  explicit Pipeline(const Options& options, Spoil spoil = {});

  // Weights that several pipelines share, each with a prompt of its own: for a service.
  struct Model;
  static std::shared_ptr<const Model> load_model(const std::string& arch);
  Pipeline(const Options& options, std::shared_ptr<const Model> model);
  ~Pipeline();

  void generate(const Sink& sink);
  // The same for one picture, a step at a time, by whoever holds several of them.
  void begin_picture();
  bool step_picture();  // false: that was the last one
  RgbImage end_picture();
  std::int64_t parameters() const;

  // The parts, each with its marks.
  void encode_prompts();
  Latents prepare_latents(Index first_frame, Index frames) const;
  Tensor predict(const Latents& latents, double noise_level, Index first_frame);

 private:
  // The prompt for the first branch and, under guidance, the empty prompt for the second.
  struct Branch {
    EncodedText text;
    BlockContext context;
  };

  void load();
  void say_config() const;
  void generate_block(Index first_frame, Index frames, const Sink& sink);
  RgbImage decode(const Images& latents, Index picture);
  void denoise(Latents& latents, Index first_frame);
  void denoise_step(int i, Latents& latents, Index first_frame);
  void get_input(Index step);
  void spoil(Joint joint, Index index, const Again& again) {
    if (spoil_) spoil_(joint, index, again);
  }

  Options options_;
  Spoil spoil_;
  Pool pool_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<Branch> branches_;
  Index step_ = 0;
  Latents picture_;  // of begin_picture()
};

}  // namespace tinydiff

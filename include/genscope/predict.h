// What a generation costs and what the hardware allows: tokens, FLOPs, memory, energy, and the
// floor of the step time. Closed forms, no measurement but of this machine's CPU on request.
//
//   const Result<Hardware> gpu = find_hardware("RTX 4090");
//   const Result<CostSpec> spec = cost_spec("flux-dev");
//   const Result<Prediction> p = predict(*spec, {.width = 1024, .height = 1024}, *gpu);
//
// All functions are pure but for measure_cpu(), and may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/inspect.h>

namespace genscope {

// A figure of a data sheet, with where it is from.
struct Hardware {
  std::string name = {};                   // "RTX 4090"
  double bf16_tflops = 0;                  // dense, fp32 accumulate
  std::optional<double> fp8_tflops = {};   // absent: no fp8 units
  std::optional<double> fp16_tflops = {};  // if it differs from bf16 (V100, T4)
  double bandwidth_gbs = 0;                // of its memory, 10^9 bytes a second
  double memory_gib = 0;                   // as the driver counts it; see `source`
  std::optional<double> watts = {};        // board power limit
  double link_gbs = 0;                     // host to device, one direction, as reached
  std::string source = {};                 // of these figures, in a phrase
  bool measured = false;                   // by measure_cpu()
  std::optional<double> int8_tops = {};    // dense; absent: not known to have such units
  // Of weights and activations in 4 bits: int4 up to Ada, fp4 from Blackwell on.
  std::optional<double> four_bit_tflops = {};
};
const std::vector<Hardware>& hardware_table();
// By name, case and spaces and vendor words aside ("NVIDIA GeForce RTX 4090" is found); the error
// names the nearest.
Result<Hardware> find_hardware(std::string_view name);
// This machine's CPU: a short GEMM for the peak, a copy for the bandwidth, in about `seconds`.
Hardware measure_cpu(double seconds = 2.0);

enum class Offload : std::uint8_t { none, model, group, sequential };
std::string_view name(Offload offload) noexcept;

// What products with weights are computed in; attention stays in 16 bits.
enum class Arithmetic : std::uint8_t { bf16, f16, fp8, int8, w4a4 };
std::string_view name(Arithmetic arithmetic) noexcept;

struct Workload {
  std::uint64_t width = 0, height = 0;  // pixels; 0: what the model was made for
  std::uint64_t frames = 0;             // 0: what the model was made for; 1: an image
  std::uint64_t steps = 0;              // 0: what its authors recommend
  std::uint64_t batch = 1;
  std::optional<std::uint64_t> text_tokens = {};      // absent: what its pipeline pads to
  std::optional<std::uint64_t> guidance_passes = {};  // forwards a step; absent: its pipeline's
  std::optional<Dtype> dtype = {};  // of the weights; absent: as in the file, or bf16
  Offload offload = Offload::none;
  // Absent: what weights of that type allow and the device has; else bf16.
  std::optional<Arithmetic> arithmetic = {};
  // GPUs that share a step: two the guidance passes, if there are two, the rest the tokens.
  std::uint64_t devices = 1;
  // Sizes as they were recorded: taken down to whole patches and groups of frames. Otherwise a size
  // that does not fit is an error.
  bool round = false;
};

// What the cost model knows of a network: its kind of block and its sizes. From a file
// (Model::denoiser()) or from the table of known models.
struct CostSpec {
  std::string architecture = {};  // key of the formulas
  std::string title = {};
  Dimensions dimensions = {};
  std::uint64_t parameters = 0;    // denoiser
  std::uint64_t weight_bytes = 0;  // denoiser, as stored; 0: from parameters and dtype
  // Denoisers that take turns with it (Wan 2.2 has one more) and are of the same size.
  std::uint64_t further_experts = 0;
  std::uint64_t expert_bytes = 0;         // of those, as stored; 0: from parameters and dtype
  std::uint64_t other_bytes = 0;          // text encoders and VAE, if known
  std::uint64_t largest_other_bytes = 0;  // of those, the largest
  std::uint64_t vae_bytes = 0;            // of those, the VAE
  std::string origin = {};                // "file PATH" or "table"
  std::string profile = {};               // known model whose defaults apply; "": the nearest
  std::string quantisation = {};          // of the file's denoiser, as Component has it
};
// Names that cost_spec() knows: "flux-dev", "wan-14b", ...
std::vector<std::string> known_models();
Result<CostSpec> cost_spec(std::string_view known_name);
Result<CostSpec> cost_spec(const Model& model);

// What published runs make likely, beside the floor that nothing goes below.
struct Expected {
  double step_low = 0, step_high = 0;    // seconds
  double total_low = 0, total_high = 0;  // steps at that rate; decoding and loading at the floor
  double mfu_low = 0, mfu_high = 0;      // of the published runs
  std::string source = {};
};

struct Prediction {
  CostSpec spec;
  Workload workload;  // with every default filled in
  Hardware hardware;

  std::uint64_t image_tokens = 0, text_tokens = 0, latent_frames = 1;
  double forward_flops = 0;    // one forward of one sample
  double attention_flops = 0;  // of forward_flops: tokens with tokens, of the image and the text
  double step_flops = 0;       // batch and passes
  double decode_flops = 0;     // VAE; 0 with a note if not modelled
  double total_flops = 0;      // all steps and the decoding
  double attention_share = 0;  // of forward_flops

  double compute_seconds = 0;  // of a step at peak
  double memory_seconds = 0;   // of a step: weights and activations through memory
  double link_seconds = 0;     // of a step: weights through the link, when offloaded
  double step_seconds = 0;     // the floor: the largest of them
  std::string bound = {};      // "compute", "memory", "link"
  double decode_seconds = 0;   // VAE at peak
  double load_seconds = 0;     // of an image: components through the link, with model offload
  double total_seconds = 0;    // the floor of an image or clip: all steps, decoding, loading
  Arithmetic arithmetic = Arithmetic::bf16;
  double peak_tflops = 0;  // of that arithmetic
  std::optional<Expected> expected = {};
  std::uint64_t guidance_devices = 1, token_devices = 1;  // devices are their product
  double exchange_bytes = 0;  // of a step, that a device sends to the others; not in the floor
  std::optional<double> joules =
      {};  // of total_seconds at the power limit: a ceiling at that floor

  double denoiser_bytes = 0;  // its weights, wherever they are
  double expert_bytes = 0;    // of denoisers that take turns with it
  double weight_bytes = 0;    // on the device at once
  double activation_bytes = 0;
  double math_attention_bytes = 0;  // on top, if attention is not fused
  double vae_peak_bytes = 0;
  double peak_bytes = 0;  // largest moment
  std::optional<bool> fits = {};
  std::vector<std::string> remedies;  // what would make it fit, with the bytes that it saves
  // Where each figure comes from and what is not modelled, in sentences.
  std::vector<std::string> sources;
  std::vector<std::string> not_modelled;
};
Result<Prediction> predict(const CostSpec& spec, const Workload& workload,
                           const Hardware& hardware);

// Model FLOP utilisation of a measured step, and what to think of it.
struct Mfu {
  double ratio = 0;       // of the peak of Prediction::arithmetic
  std::string band = {};  // "good", "fair", "poor"; "assumption wrong" if faster than the floor
  std::string note = {};
};
Mfu judge(const Prediction& prediction, double measured_step_seconds);

// One JSON document each (docs/predict.md), with a newline: a prediction and what a measured step
// makes of it, the table of devices, the defaults of models.
std::string to_json(const Prediction& prediction, std::optional<double> measured_step_seconds = {});
std::string to_json(const std::vector<Hardware>& table);
std::string to_json(const std::vector<Prediction>& models);

}  // namespace genscope

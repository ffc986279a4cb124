// The table of facts: all that a rule may ask. One row serves the checks of rules when they are
// loaded, whoever fills a Facts, and docs/rules.md.
//
// A name that ends in [] is a family: `stage.share[vae_decode]` is one of `stage.share[]`. Keys of
// `stage` are load, text_encode, vae_encode, denoise, vae_decode, post, save, or a stage's own name
// where it is none of these; keys of `model` are denoiser, vae, text_encoder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace genscope::advice {

enum class FactType : std::uint8_t { number, flag, text };
std::string_view name(FactType type) noexcept;  // "a number", ...

struct FactName {
  std::string_view name;
  FactType type;
  std::string_view unit;  // see fact_text.cc; "" of flags and texts
  std::string_view meaning;

  bool family() const noexcept { return name.ends_with("[]"); }
};

inline constexpr auto kNumber = FactType::number;
inline constexpr auto kFlag = FactType::flag;
inline constexpr auto kText = FactType::text;

// clang-format off
inline constexpr FactName kFacts[] = {
  // --- stages. What a stage spends in steps, layers and other spans counts for it, what it spends
  // in another stage does not, so that shares of the wall time add up.
  {"stage.share[]", kNumber, "share", "Share of the run's time in this stage, other stages inside it not counted"},
  {"stage.ms[]", kNumber, "ms", "Time in this stage, all calls"},
  {"stage.calls[]", kNumber, "count", "Calls of this stage"},
  {"stage.first[]", kNumber, "x", "First call over the median of the later ones"},
  {"stage.top", kText, "", "Stage with the largest share"},
  {"stage.top_share", kNumber, "share", "Its share of the run's time"},
  {"layer.top", kText, "", "Layer with the largest share of all layers' time"},
  {"layer.top_share", kNumber, "share", "Its share of all layers' time"},

  // --- steps; "steady" are those that neither warm up nor fail (docs/analysis.md)
  {"step.count", kNumber, "count", "Steps recorded"},
  {"step.med", kNumber, "ms", "Median of the steady steps"},
  {"step.first", kNumber, "x", "First step over the median of the steady ones"},
  {"step.second", kNumber, "x", "Second step over the median of the steady ones"},
  {"step.cv", kNumber, "share", "Coefficient of variation of the steady steps"},
  {"step.trend", kNumber, "%/100 steps", "Robust slope of the steady steps; 0 where its interval holds 0"},
  {"step.outliers", kNumber, "count", "Steps longer than 2.5 times the median"},
  {"step.outlier_first", kFlag, "", "The first step is one of them"},
  {"step.outlier_mid", kNumber, "count", "Outliers that are neither the first step nor the last"},
  {"step.outliers_at_shape", kNumber, "count", "Outliers at a change of the denoiser's input shape"},
  {"step.short", kNumber, "count", "Steps shorter than half the median: skipped by a cache"},
  {"step.jump", kNumber, "x", "Largest lasting rise of the step time within the run"},
  {"step.scheduler_share", kNumber, "share", "Share of a step in the scheduler"},
  {"step.hook_share", kNumber, "share", "Share of a step in Python hooks"},
  {"fwd.per_step", kNumber, "count", "Calls of the denoiser per step, median"},
  {"fwd.shape_changes", kNumber, "count", "Changes of the denoiser's input shape"},
  {"compile.active", kFlag, "", "A compiler worked during the first step"},
  {"compile.graph_growth", kNumber, "count", "Graphs compiled after the first step"},
  {"sync.per_step", kNumber, "count", "Times per step in which the host waited for the GPU"},
  {"sync.log_per_step", kNumber, "count", "Those of them made by the logging of a loss or metric"},
  {"h2d.copies_per_step", kNumber, "count", "Copies from host to device per step"},
  {"h2d.bytes_per_step", kNumber, "B", "Bytes of them"},
  {"h2d.rate", kNumber, "B/s", "Rate of these copies while they run"},

  // --- clocks of the spans
  {"time.gpu_clock", kFlag, "", "Spans carry GPU time, or the host waited at the ends of most stages (without stages, steps)"},
  {"time.last_span_share", kNumber, "share", "Share of the run in spans around a wait for the GPU, or last before it, spans inside not counted"},
  {"time.spans_per_gpu", kNumber, "x", "Sum of the spans over the GPU's busy time"},

  // --- GPUs; of several, those that the run used
  {"gpu.present", kFlag, "", "The machine has a GPU that this run could see"},
  {"gpu.vendor", kText, "", "nvidia, amd, intel"},
  {"gpu.name", kText, "", "Name of the GPU"},
  {"gpu.count", kNumber, "count", "GPUs that the run could see"},
  {"gpu.used", kNumber, "count", "GPUs that did work for the run"},
  {"gpu.overlap", kNumber, "share", "Share of the GPU time in which two or more were busy at once"},
  {"gpu.capability", kNumber, "", "CUDA compute capability, 8.9; NVIDIA only"},
  {"gpu.fp8", kFlag, "", "The GPU multiplies fp8"},
  {"gpu.peak_tflops", kNumber, "TFLOP/s", "Dense peak at the denoiser's data type"},
  {"gpu.util", kNumber, "share", "Mean share of the time that the GPU was busy, in the steps where there are any"},
  {"gpu.util_first", kNumber, "share", "The same in the first step"},
  {"gpu.sm_clock_ratio", kNumber, "share", "Mean core clock over its maximum"},
  {"gpu.clock_drift", kNumber, "share", "Change of the core clock from the first to the last quarter of the steps"},
  {"gpu.throttle_thermal_share", kNumber, "share", "Share of the samples with thermal slowdown (0x20 or 0x40)"},
  {"gpu.throttle_power_share", kNumber, "share", "Share of the samples at the power limit (0x4)"},
  {"gpu.temp_max", kNumber, "C", "Highest temperature"},
  {"gpu.others", kNumber, "count", "Other processes that used the GPU"},
  {"pcie.rate", kNumber, "B/s", "Rate of the link between host and GPU"},

  // --- memory of the GPU: vram.* as the device sees it, mem.* as the allocator does
  {"vram.total", kNumber, "B", "Memory of the GPU"},
  {"vram.free", kNumber, "B", "Free when the decoder starts, else at the least"},
  {"vram.used_share", kNumber, "share", "Peak in use, all processes, over vram.total"},
  {"vram.headroom", kNumber, "share", "What was never used, over vram.total"},
  {"vram.tree_peak", kNumber, "B", "Peak of the run's own processes"},
  {"mem.alloc", kNumber, "B", "Allocated by tensors, at the peak of mem.reserved"},
  {"mem.reserved", kNumber, "B", "Reserved by the allocator, peak"},
  {"mem.step_jump", kNumber, "B", "Rise of the allocated bytes within a step, peak"},
  {"mem.retries", kNumber, "count", "Allocations that worked only after the cache was freed"},
  {"mem.ooms", kNumber, "count", "Allocations that failed"},
  {"mem.oom_request", kNumber, "B", "Largest allocation that failed"},
  {"mem.oom_stage", kText, "", "Stage of the first failure"},
  {"mem.peak_growth", kNumber, "share", "Growth of the peak per request, median"},
  {"request.count", kNumber, "count", "Generations in this run"},

  // --- host
  {"cpu.main", kNumber, "share", "Share of the time that the main thread was busy, in the steady steps where there are any"},
  {"host.rss_slope_low", kNumber, "B/s", "Growth of resident memory in the steady steps: lower end of its interval"},
  {"host.rss_growth", kNumber, "share", "Growth of resident memory over the steady steps, over its begin"},
  {"host.swap_in_rate", kNumber, "B/s", "Bytes swapped in"},
  {"host.majflt_rate", kNumber, "1/s", "Page faults that needed the disk"},
  {"disk.read_rate", kNumber, "B/s", "Bytes read from disks"},

  // --- loading and text
  {"load.rate", kNumber, "B/s", "Bytes of the weights over the time to load them"},
  {"load.repeats", kNumber, "count", "Loads of a file that had been loaded before"},
  {"load.partial", kFlag, "", "A model was loaded only partially, by the host program's log"},
  {"load.lowvram_patches", kNumber, "count", "Weights patched at each use for want of memory"},
  {"text.repeats", kNumber, "count", "Prompts encoded that had been encoded before"},
  {"text.swaps", kNumber, "count", "Moves of the text encoder between host and GPU per call"},
  {"text.tokens", kNumber, "count", "Tokens of the longest prompt"},
  {"text.padded", kNumber, "count", "Tokens after padding"},
  {"vlm.tokens_per_image", kNumber, "count", "Visual tokens per image of a vision-language model"},

  // --- model
  {"model.arch[]", kText, "", "Architecture: flux, qwen_image, wan, sdxl, t5, ..."},
  {"model.family[]", kText, "", "Family of the architecture: mmdit, dit, unet, causal_video, ..."},
  {"model.passes[]", kNumber, "count", "Forward passes a step of the model's pipeline, unless told otherwise"},
  {"model.dtype[]", kText, "", "Data type of the weights: fp32, fp16, bf16, fp8_e4m3, ..."},
  {"model.quant[]", kText, "", "Quantisation of the weights: none, gguf, nf4, int8, ..."},
  {"model.device[]", kText, "", "Where the weights are while they are used: cpu, gpu"},
  {"model.params[]", kNumber, "count", "Parameters"},
  {"model.bytes[]", kNumber, "B", "Bytes of the weights"},
  {"model.bytes_per_param[]", kNumber, "B", "Bytes per parameter"},
  {"model.total_bytes", kNumber, "B", "Bytes of the weights of all components"},
  {"model.experts", kNumber, "count", "Denoisers that take turns in one generation (Wan 2.2: 2)"},
  {"model.distilled", kFlag, "", "Weights or LoRA made for few steps: turbo, lightning, schnell"},
  {"model.edit", kFlag, "", "The model edits images"},
  {"model.conv3d", kFlag, "", "The VAE or the patch embedding has 3-D convolutions"},
  {"model.conv_share", kNumber, "share", "Share of the operations in convolutions"},
  {"model.train_tokens", kNumber, "count", "Image tokens at the size that the model was trained for"},
  {"model.off_gpu_share", kNumber, "share", "Share of the parameters on the host or on no device"},
  {"lora.active", kNumber, "count", "LoRA adapters in use"},
  {"lora.loaded", kNumber, "count", "LoRA adapters loaded"},
  {"lora.fused", kFlag, "", "The active adapters are merged into the weights"},
  {"lora.switches", kNumber, "count", "Changes of adapters or their scales within the run"},
  {"lora.switch_trend", kNumber, "%/switch", "Growth of the time that a switch takes"},

  // --- settings
  {"set.steps", kNumber, "count", "Steps per generation"},
  {"set.images", kNumber, "count", "Images or clips made by the run"},
  {"set.frames", kNumber, "count", "Frames per generation; 1 for images"},
  {"set.tokens", kNumber, "count", "Image tokens of the denoiser, references included"},
  {"set.target_tokens", kNumber, "count", "Image tokens of the picture that is made"},
  {"set.reference_tokens", kNumber, "count", "Image tokens of reference pictures"},
  {"set.offload", kText, "", "none, model, sequential, group"},
  {"set.offload_type", kText, "", "Of group offload: block_level, leaf_level"},
  {"set.offload_low_cpu_mem", kFlag, "", "Group offload pins memory at each use"},
  {"set.device_map", kText, "", "none, auto, balanced, sequential, ..."},
  {"set.compile", kText, "", "none, or the mode of the compiler"},
  {"set.attn", kText, "", "Attention back end: math, naive, sdpa, flash, flash3, cudnn, sage, ..."},
  {"set.attn_processor", kText, "", "Class of the attention processor, where the program set one"},
  {"set.attn_slicing", kFlag, "", "Attention is computed in slices"},
  {"set.attn_mask_ones", kFlag, "", "An attention mask is passed, and it masks nothing"},
  {"set.autocast", kFlag, "", "Automatic mixed precision is active"},
  {"set.compute_dtype", kText, "", "Data type of the matrix products"},
  {"set.memory_format", kText, "", "contiguous, channels_last"},
  {"set.cache", kText, "", "none, or the step cache in use: fbc, teacache, dbcache, ..."},
  {"set.vae_tiling", kFlag, "", "The VAE works tile by tile"},
  {"set.vae_grad", kFlag, "", "Autograd records in the VAE"},
  {"set.preview_every", kNumber, "count", "Steps per preview; 0: no previews"},
  {"set.preview_method", kText, "", "latent2rgb, taesd, vae"},
  {"set.training", kFlag, "", "The run trains"},
  {"set.benchmark", kFlag, "", "The run is a benchmark"},
  {"set.grad_checkpointing", kFlag, "", "Activations are recomputed in the backward pass"},
  {"set.checkpointing_in_eval", kFlag, "", "... and in validation too"},

  // --- environment
  {"env.torch", kText, "", "Version of torch"},
  {"env.cudnn", kText, "", "Version of cuDNN, dotted"},
  {"env.driver", kText, "", "Version of the GPU driver"},
  {"env.backend", kText, "", "cuda, rocm, xpu, mps, cpu"},
  {"env.launch_blocking", kFlag, "", "CUDA_LAUNCH_BLOCKING or its like is set"},
  {"env.profiler_active", kFlag, "", "Another profiler traced the run"},
  {"env.matmul_precision", kText, "", "Of fp32 products: highest, high, medium"},
  {"env.cudnn_benchmark", kFlag, "", "cuDNN tries its algorithms"},
  {"env.miopen_find_mode", kText, "", "MIOPEN_FIND_MODE, where it is set"},

  // --- predictions from model, settings and GPU
  {"mfu", kNumber, "share", "Operations done per second over the peak"},
  {"pred.step_ms", kNumber, "ms", "Least time of a step"},
  {"pred.bound", kText, "", "What bounds it: compute, memory"},
  {"pred.offload_ms", kNumber, "ms", "Time to move the weights of a step over the link"},
  {"pred.attn_share", kNumber, "share", "Share of the operations in attention"},
  {"pred.attn_bytes", kNumber, "B", "Score matrix of one attention call, where it is stored"},
  {"pred.vae_bytes", kNumber, "B", "Peak of a decode without tiles"},
  {"pred.peak_bytes", kNumber, "B", "Peak beyond the weights"},

  // --- training and ranks
  {"input.wait_share", kNumber, "share", "Share of the training loop spent waiting for input, on its own thread"},
  {"train.encode_share", kNumber, "share", "Share of the batches in VAE and text encoders"},
  {"rank.count", kNumber, "count", "Ranks of the run"},
  {"rank.input_skew", kNumber, "x", "Longest input wait of a rank over the median rank's"},
  {"rank.input_slowest", kText, "", "Rank with the longest input wait"},
  {"rank.wait_med", kNumber, "share", "Share of the time that the median rank waits in collectives"},
  {"rank.wait_min", kNumber, "share", "The same of the rank that waits least"},
  {"rank.straggler", kText, "", "The rank that waits least"},

  // --- targets, blocks and streams
  {"run.failed", kNumber, "count", "Generations that failed"},
  {"target.ratio", kNumber, "x", "Time of a generation over its target, median"},
  {"target.met_share", kNumber, "share", "Share of the generations that met the target; a failed one did not"},
  {"target.projected_ratio", kNumber, "x", "Elapsed plus what the steps so far promise, over the target"},
  {"block.first_ratio", kNumber, "x", "First block, from the begin of the run, over the median of the others"},
  {"block.frames_mean", kNumber, "count", "Frames per block"},
  {"block.fps", kNumber, "frames/s", "Frames per second, each frame counted once"},
  {"stream.sent", kNumber, "count", "Frames sent"},
  {"stream.drop_share", kNumber, "share", "Frames dropped over sent and dropped"},

  // --- against another run
  {"compare.env_changes", kNumber, "count", "Differences of library, driver or hardware from the other run"},
  {"native.step_ratio", kNumber, "x", "Step time over that of the same work with native attention"},

  // --- genscope itself, and what a program records
  {"self.sampler_share", kNumber, "share", "CPU time of our sampler over the wall time"},
  {"self.span_share", kNumber, "share", "Cost of our spans over the wall time"},
  {"advice.fired", kNumber, "count", "Other rules that fired with hint or worse; known to the rules that ask for it, which come last"},
  {"counter.mean[]", kNumber, "", "Mean of a counter of the program"},
  {"counter.max[]", kNumber, "", "Greatest value of a counter of the program"},
  {"counter.last[]", kNumber, "", "Last value of a counter of the program"},
  {"tag[]", kText, "", "Tag of the run"},
};
// clang-format on

std::span<const FactName> all_facts() noexcept;

// The row of `stage.share[x]`, or of a plain name; null if there is none.
const FactName* find_fact(std::string_view fact) noexcept;

// The known name nearest to a mistyped one, keeping its key: "stage.share[save]"; "" if none is
// near.
std::string nearest_fact(std::string_view fact);

}  // namespace genscope::advice

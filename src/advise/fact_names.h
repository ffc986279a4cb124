// The table of facts: all that a rule may ask. One row serves the checks of rules when they are
// loaded, whoever fills a Facts, and docs/rules.md.
//
// What an Analysis has is called as in the JSON report (docs/report-json.md), less `resources.`, so
// that a unit ends the name. A name that ends in [] is a family:
// `stage_groups.exclusive_share[vae_decode]` is one of `stage_groups.exclusive_share[]`. Keys of
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

// Who gives a fact its value.
enum class FactSource : std::uint8_t {
  field,    // it is a field of Analysis: facts/fields.cc, or a family of facts/facts.cc
  hooks,    // genscope's hooks, log readers and monitors say it of the programs that they know
  program,  // nothing in genscope: the program must say so itself
};
std::string_view name(FactSource source) noexcept;

struct FactName {
  std::string_view name;
  FactType type;
  std::string_view unit;  // see fact_text.cc; "" of flags and texts
  FactSource source;
  std::string_view meaning;

  bool family() const noexcept { return name.ends_with("[]"); }
};

inline constexpr auto kNumber = FactType::number;
inline constexpr auto kFlag = FactType::flag;
inline constexpr auto kText = FactType::text;
inline constexpr auto kField = FactSource::field;
inline constexpr auto kHooks = FactSource::hooks;
inline constexpr auto kProgram = FactSource::program;

// clang-format off
inline constexpr FactName kFacts[] = {
  // --- stages. What a stage spends in steps, layers and other spans counts for it, what it spends
  // in another stage does not, so that shares of the wall time add up.
  {"stage_groups.exclusive_share[]", kNumber, "share", kField, "Share of the run's time in this stage, other stages inside it not counted"},
  {"stage_groups.exclusive_ns[]", kNumber, "ns", kField, "Time in this stage, all calls"},
  {"stage_groups.count[]", kNumber, "count", kField, "Calls of this stage"},
  {"stage_groups.first_ratio[]", kNumber, "x", kField, "First call over the median of the later ones"},
  {"stage_groups.top", kText, "", kField, "Stage with the largest share"},
  {"stage_groups.top_exclusive_share", kNumber, "share", kField, "Its share of the run's time"},
  {"layers.top", kText, "", kField, "Layer with the largest share of all layers' time"},
  {"layers.top_share", kNumber, "share", kField, "Its share of all layers' time"},

  // --- steps; "steady" are those that neither warm up nor fail (docs/analysis.md)
  {"steps.count", kNumber, "count", kField, "Steps recorded"},
  {"steps.steady_p50_ns", kNumber, "ns", kField, "Median of the steady steps"},
  {"steps.first_ratio", kNumber, "x", kField, "First step over the median of the steady ones"},
  {"steps.second_ratio", kNumber, "x", kField, "Second step over the median of the steady ones"},
  {"steps.steady_cv", kNumber, "share", kField, "Coefficient of variation of the steady steps"},
  {"steps.trend_percent_per_100", kNumber, "%/100 steps", kField, "Robust slope of the steady steps; 0 where its interval holds 0"},
  {"steps.slow_count", kNumber, "count", kField, "Steps longer than 2.5 times the median"},
  {"steps.slow_first", kFlag, "", kField, "The first step is one of them"},
  {"steps.slow_inner_count", kNumber, "count", kField, "Outliers that are neither the first step nor the last"},
  {"steps.slow_at_shape_count", kNumber, "count", kField, "Outliers at a change of the denoiser's input shape"},
  {"steps.slow_every", kNumber, "count", kField, "Steps from one inner outlier to the next, where they come regularly"},
  {"slow_step.number", kNumber, "count", kField, "The slowest of the inner outliers that are steady: its number, from 1"},
  {"slow_step.ratio", kNumber, "x", kField, "Its time over the median of the steady steps"},
  {"slow_step.share", kNumber, "share", kField, "Share of the run's time that it took longer than the median"},
  {"slow_step.meanwhile", kText, "", kField, "What its processes and the machine did then"},
  {"steps.short_count", kNumber, "count", kField, "Steps shorter than half the median: skipped by a cache"},
  {"steps.jump_ratio", kNumber, "x", kField, "Largest lasting rise of the step time within the run"},
  {"steps.scheduler_share", kNumber, "share", kField, "Share of a step in the scheduler"},
  {"steps.hook_share", kNumber, "share", kField, "Share of a step in Python hooks"},
  {"utilisation.forwards_per_step", kNumber, "count", kField, "Calls of the denoiser per step, median"},
  {"steps.shape_changes", kNumber, "count", kField, "Changes of the denoiser's input shape"},
  {"compile.active", kFlag, "", kHooks, "A compiler worked during the first step"},
  {"compile.graph_growth", kNumber, "count", kHooks, "Compilations, after the first step, of code that had been compiled before"},
  {"step_traffic.syncs_per_step", kNumber, "count", kField, "Times per step in which the host waited for the GPU"},
  {"step_traffic.log_syncs_per_step", kNumber, "count", kField, "Those of them made by the logging of a loss or metric"},
  {"step_traffic.h2d_copies_per_step", kNumber, "count", kField, "Copies from host to device per step"},
  {"step_traffic.h2d_bytes_per_step", kNumber, "B", kField, "Bytes of them"},
  {"step_traffic.h2d_bytes_per_second", kNumber, "B/s", kField, "Rate of these copies while they run"},

  // --- clocks of the spans
  {"span_clock.gpu", kFlag, "", kField, "Spans carry GPU time, or the host waited at the ends of most stages (without stages, steps)"},
  {"span_clock.last_span_share", kNumber, "share", kField, "Share of the run in spans around a wait for the GPU, or last before it, spans inside not counted"},
  {"span_clock.stages_per_busy_ratio", kNumber, "x", kField, "Sum of the spans over the GPU's busy time"},

  // --- GPUs; of several, those that the run used
  {"gpu.present", kFlag, "", kField, "The machine has a GPU that this run could see"},
  {"gpu.vendor", kText, "", kField, "nvidia, amd, intel"},
  {"gpu.name", kText, "", kField, "Name of the GPU"},
  {"gpu.count", kNumber, "count", kField, "GPUs that the run could see"},
  {"gpus_used", kNumber, "count", kField, "GPUs that did work for the run"},
  {"device_overlap_ratio", kNumber, "share", kField, "Share of the GPU time in which two or more were busy at once"},
  {"gpu.capability", kNumber, "", kField, "CUDA compute capability, 8.9; NVIDIA only"},
  {"gpu.fp8", kFlag, "", kField, "The GPU multiplies fp8"},
  {"utilisation.peak_tflops", kNumber, "TFLOP/s", kField, "Dense peak at the denoiser's data type"},
  {"gpu.busy_ratio", kNumber, "share", kField, "Mean share of the time that the GPU was busy, in the steps where there are any"},
  {"gpu.first_step_busy_ratio", kNumber, "share", kField, "The same in the first step"},
  {"gpu.clock_ratio", kNumber, "share", kField, "Mean core clock over its maximum"},
  {"gpu.clock_drift_ratio", kNumber, "share", kField, "Change of the core clock from the first to the last quarter of the steps"},
  {"throttling.thermal_share", kNumber, "share", kField, "Share of the samples with thermal slowdown (0x20 or 0x40)"},
  {"throttling.power_cap_share", kNumber, "share", kField, "Share of the samples at the power limit (0x4)"},
  {"gpu.temperature_max_celsius", kNumber, "C", kField, "Highest temperature"},
  {"gpu.other_processes", kNumber, "count", kField, "Other processes that used the GPU"},
  {"gpu.link_bytes_per_second", kNumber, "B/s", kField, "Rate of the link between host and GPU"},

  // --- memory of the GPU: vram.* as the device sees it, mem.* as the allocator does
  {"gpu.memory_total_bytes", kNumber, "B", kField, "Memory of the GPU"},
  {"gpu.memory_free_bytes", kNumber, "B", kField, "Free when the decoder starts, else at the least"},
  {"gpu.memory_peak_share", kNumber, "share", kField, "Peak in use, all processes, over gpu.memory_total_bytes"},
  {"gpu.memory_headroom_share", kNumber, "share", kField, "What was never used, over gpu.memory_total_bytes"},
  {"gpu.tree_memory_peak_bytes", kNumber, "B", kField, "Peak of the run's own processes"},
  {"allocator.allocated_bytes", kNumber, "B", kField, "Allocated by tensors, at the peak of allocator.reserved_bytes"},
  {"allocator.reserved_bytes", kNumber, "B", kField, "Reserved by the allocator, peak"},
  {"allocator.step_rise_bytes", kNumber, "B", kField, "Rise of the allocated bytes within a step, peak"},
  {"allocator.retries", kNumber, "count", kField, "Allocations that worked only after the cache was freed"},
  {"allocator.ooms", kNumber, "count", kField, "Allocations that failed"},
  {"allocator.oom_request_bytes", kNumber, "B", kProgram, "Largest allocation that failed"},
  {"allocator.oom_stage", kText, "", kProgram, "Stage of the first failure"},
  {"allocator.request_growth_ratio", kNumber, "share", kField, "Growth of the peak per request, median"},
  {"requests.count", kNumber, "count", kField, "Generations in this run"},

  // --- where the wall time of the processes went, and the machine under them
  {"time.on_cpu_share", kNumber, "share", kField, "Share of the time that a thread was on a CPU"},
  {"time.ready_share", kNumber, "share", kField, "Share of the time that a thread could have run and had no CPU, and none ran"},
  {"time.storage_share", kNumber, "share", kField, "Share of the time that waited for storage"},
  {"time.other_share", kNumber, "share", kField, "Share of the time that slept, or waited for something else"},
  {"time.cpu_wait_share", kNumber, "share", kField, "Share of the time in which threads could run, each counted, that they had no CPU"},
  {"time.covered_seconds", kNumber, "s", kField, "Time that these shares are of"},
  {"pauses.count", kNumber, "count", kField, "Stops of a program that otherwise keeps a CPU busy, two readings long or more"},
  {"pauses.share", kNumber, "share", kField, "Share of the time in them"},
  {"pauses.typical_seconds", kNumber, "s", kField, "The median one"},
  {"pauses.every_seconds", kNumber, "s", kField, "From one to the next, where they come regularly"},
  {"host.machine_cpus", kNumber, "count", kField, "CPUs of the machine"},
  {"host.cpus", kNumber, "count", kField, "CPUs that the run may use"},
  {"host.own_cores", kNumber, "CPUs", kField, "CPUs that it used on average"},
  {"host.other_cores", kNumber, "CPUs", kField, "CPUs that all others on the machine used on average"},
  {"host.steal_share", kNumber, "share", kField, "Share of the CPUs' time that the hypervisor took"},
  {"host.throttled_share", kNumber, "share", kField, "Share of the time that the control group's quota held tasks back"},
  {"host.oom_kills", kNumber, "count", kField, "Processes of the control group that the kernel ended because memory ran out"},
  {"host.threads_seen", kNumber, "count", kField, "Threads at once, the most that a reading saw"},
  {"host.rss_peak_bytes", kNumber, "B", kField, "Peak of the processes' resident memory, as read"},
  {"host.swap_peak_bytes", kNumber, "B", kField, "Peak of their memory swapped out, as read"},
  {"host.read_bytes", kNumber, "B", kField, "Bytes they read from storage"},
  {"host.write_bytes", kNumber, "B", kField, "Bytes they wrote to storage"},
  {"host.run_low_bytes_per_second", kNumber, "B/s", kField, "Growth of resident memory after the first quarter of a run without steps: lower end of its interval"},
  {"host.run_growth_ratio", kNumber, "share", kField, "The same over the value at its begin"},

  // --- host
  {"host.main_thread_busy_ratio", kNumber, "share", kField, "Share of the time that the main thread was busy, in the steady steps where there are any"},
  {"host.rss_low_bytes_per_second", kNumber, "B/s", kField, "Growth of resident memory in the steady steps: lower end of its interval"},
  {"host.rss_growth_ratio", kNumber, "share", kField, "Growth of resident memory over the steady steps, over its begin"},
  {"host.swap_in_bytes_per_second", kNumber, "B/s", kProgram, "Bytes swapped in"},
  {"host.memory_peak_share", kNumber, "share", kField, "Peak of the machine's memory in use, all processes"},
  {"host.major_faults_per_second", kNumber, "1/s", kField, "Page faults that needed the disk"},
  {"host.read_bytes_per_second", kNumber, "B/s", kField, "Bytes read from disks"},

  // --- loading and text
  {"loads.bytes_per_second", kNumber, "B/s", kField, "Bytes of the weights over the time to load them"},
  {"loads.repeats", kNumber, "count", kField, "Loads of a file that had been loaded before"},
  {"load.partial", kFlag, "", kHooks, "A model was loaded only partially, by the host program's log"},
  {"load.lowvram_patches", kNumber, "count", kHooks, "Weights patched at each use because memory was short"},
  {"loads.prompt_repeats", kNumber, "count", kField, "Prompts encoded that had been encoded before"},
  {"text.swaps", kNumber, "count", kProgram, "Moves of the text encoder between host and GPU per call"},
  {"text.tokens", kNumber, "count", kProgram, "Tokens of the longest prompt"},
  {"text.padded", kNumber, "count", kProgram, "Tokens after padding"},
  {"vlm.tokens_per_image", kNumber, "count", kHooks, "Visual tokens per image of a vision-language model"},

  // --- model
  {"model.arch[]", kText, "", kHooks, "Architecture: flux, qwen_image, wan, sdxl, t5, ..."},
  {"model.family[]", kText, "", kHooks, "Family of the architecture: mmdit, dit, unet, causal_video, ..."},
  {"model.passes[]", kNumber, "count", kHooks, "Forward passes a step of the model's pipeline, unless told otherwise"},
  {"model.dtype[]", kText, "", kHooks, "Data type of the weights: fp32, fp16, bf16, fp8_e4m3, ..."},
  {"model.quant[]", kText, "", kHooks, "Quantisation of the weights: none, gguf, nf4, int8, ..."},
  {"model.weights[]", kText, "", kHooks, "What its linear layers keep their weights in: bf16, int8, int4, nf4, q4_k, fp8_e4m3, ..."},
  {"model.quantised_share[]", kNumber, "share", kHooks, "Share of those weights that are quantised"},
  {"model.arithmetic[]", kText, "", kHooks, "What its matrix products are computed in: fp32, bf16, int8, fp8_e4m3, ..."},
  {"model.device[]", kText, "", kHooks, "Where the weights are while they are used: cpu, gpu"},
  {"model.params[]", kNumber, "count", kHooks, "Parameters"},
  {"model.bytes[]", kNumber, "B", kHooks, "Bytes of the weights"},
  {"model.bytes_per_param[]", kNumber, "B", kHooks, "Bytes per parameter"},
  {"model.total_bytes", kNumber, "B", kHooks, "Bytes of the weights of all components"},
  {"model.experts", kNumber, "count", kHooks, "Denoisers that take turns in one generation (Wan 2.2: 2)"},
  {"model.distilled", kFlag, "", kHooks, "Weights or LoRA made for few steps: turbo, lightning, schnell"},
  {"model.edit", kFlag, "", kHooks, "The model edits images"},
  {"model.conv3d", kFlag, "", kHooks, "The VAE or the patch embedding has 3-D convolutions"},
  {"model.conv_share", kNumber, "share", kProgram, "Share of the operations in convolutions"},
  {"model.train_tokens", kNumber, "count", kProgram, "Image tokens at the size that the model was trained for"},
  {"model.off_gpu_share", kNumber, "share", kHooks, "Share of the parameters on the host or on no device"},
  {"lora.active", kNumber, "count", kHooks, "LoRA adapters in use"},
  {"lora.loaded", kNumber, "count", kHooks, "LoRA adapters loaded"},
  {"lora.fused", kFlag, "", kHooks, "The active adapters are merged into the weights"},
  {"lora.switches", kNumber, "count", kHooks, "Changes of adapters or their scales within the run"},
  {"lora.switch_trend", kNumber, "%/switch", kProgram, "Growth of the time that a switch takes"},

  // --- settings
  {"set.steps", kNumber, "count", kHooks, "Steps per generation"},
  {"set.images", kNumber, "count", kField, "Images or clips made by the run"},
  {"set.batch", kNumber, "count", kHooks, "Images or clips of one call"},
  {"set.frames", kNumber, "count", kHooks, "Frames per generation; 1 for images"},
  {"set.tokens", kNumber, "count", kProgram, "Image tokens of the denoiser, references included"},
  {"set.target_tokens", kNumber, "count", kProgram, "Image tokens of the picture that is made"},
  {"set.reference_tokens", kNumber, "count", kHooks, "Image tokens of reference pictures"},
  {"set.offload", kText, "", kHooks, "none, model, sequential, group"},
  {"set.offload_type", kText, "", kHooks, "Of group offload: block_level, leaf_level"},
  {"set.offload_low_cpu_mem", kFlag, "", kHooks, "Group offload pins memory at each use"},
  {"set.device_map", kText, "", kHooks, "none, auto, balanced, sequential, ..."},
  {"set.compile", kText, "", kHooks, "none, or the mode of the compiler"},
  {"set.attn", kText, "", kHooks, "Attention back end: math, naive, sdpa, flash, flash3, cudnn, sage, ..."},
  {"set.attn_kernel", kText, "", kHooks, "Kernel that torch's scaled_dot_product_attention chose: flash, efficient, cudnn, math"},
  {"set.attn_processor", kText, "", kHooks, "Class of the attention processor, where the program set one"},
  {"set.attn_slicing", kFlag, "", kHooks, "Attention is computed in slices"},
  {"set.attn_mask_ones", kFlag, "", kProgram, "An attention mask is passed, and it masks nothing"},
  {"set.autocast", kFlag, "", kHooks, "Automatic mixed precision is active"},
  {"set.compute_dtype", kText, "", kHooks, "Data type of the matrix products"},
  {"set.memory_format", kText, "", kHooks, "contiguous, channels_last"},
  {"set.cache", kText, "", kHooks, "none, or the step cache in use: fbc, teacache, dbcache, ..."},
  {"set.vae_tiling", kFlag, "", kHooks, "The VAE works tile by tile"},
  {"set.vae_grad", kFlag, "", kHooks, "Autograd records in the VAE"},
  {"set.preview_every", kNumber, "count", kProgram, "Steps per preview; 0: no previews"},
  {"set.preview_method", kText, "", kProgram, "latent2rgb, taesd, vae"},
  {"set.training", kFlag, "", kField, "The run trains"},
  {"set.benchmark", kFlag, "", kProgram, "The run is a benchmark"},
  {"set.grad_checkpointing", kFlag, "", kHooks, "Activations are recomputed in the backward pass"},
  {"set.checkpointing_in_eval", kFlag, "", kHooks, "... and in validation too"},

  // --- environment
  {"env.torch", kText, "", kHooks, "Version of torch"},
  {"env.cudnn", kText, "", kHooks, "Version of cuDNN, dotted"},
  {"env.driver", kText, "", kField, "Version of the GPU driver"},
  {"env.backend", kText, "", kHooks, "cuda, rocm, xpu, mps, cpu"},
  {"env.launch_blocking", kFlag, "", kHooks, "CUDA_LAUNCH_BLOCKING or its like is set"},
  {"env.profiler_active", kFlag, "", kHooks, "Another profiler traced the run"},
  {"env.matmul_precision", kText, "", kHooks, "Of fp32 products: highest, high, medium"},
  {"env.cudnn_benchmark", kFlag, "", kHooks, "cuDNN tries its algorithms"},
  {"env.miopen_find_mode", kText, "", kHooks, "MIOPEN_FIND_MODE, where it is set"},

  // --- predictions from model, settings and GPU
  {"utilisation.mfu", kNumber, "share", kField, "Operations done per second over the peak"},
  {"utilisation.predicted_step_ns", kNumber, "ns", kField, "Least time of a step"},
  {"utilisation.bound", kText, "", kField, "What bounds it: compute, memory"},
  {"utilisation.offload_ns", kNumber, "ns", kField, "Time to move the weights of a step over the link"},
  {"utilisation.attention_share", kNumber, "share", kField, "Share of the operations in attention"},
  {"utilisation.attention_bytes", kNumber, "B", kField, "Score matrix of one attention call, where it is stored"},
  {"utilisation.vae_bytes", kNumber, "B", kField, "Peak of a decode without tiles"},
  {"utilisation.peak_bytes", kNumber, "B", kField, "Peak beyond the weights"},

  // --- training and ranks
  {"training.input_wait_share", kNumber, "share", kField, "Share of the training loop spent waiting for input, on its own thread"},
  {"training.encode_share", kNumber, "share", kField, "Share of the batches in VAE and text encoders"},
  {"ranks.count", kNumber, "count", kField, "Ranks of the run"},
  {"ranks.input_wait_ratio", kNumber, "x", kField, "Longest input wait of a rank over the median rank's"},
  {"ranks.input_slowest", kText, "", kField, "Rank with the longest input wait"},
  {"ranks.wait_p50_share", kNumber, "share", kField, "Share of the time that the median rank waits in collectives"},
  {"ranks.wait_min_share", kNumber, "share", kField, "The same of the rank that waits least"},
  {"ranks.step_ratio", kNumber, "x", kField, "Longest median step of a rank over the median rank's"},
  {"ranks.step_slowest", kText, "", kField, "The rank whose steps take longest"},
  {"ranks.straggler", kText, "", kField, "The rank that waits least"},

  // --- targets, blocks and streams
  {"requests.failed", kNumber, "count", kField, "Generations that failed"},
  {"requests.target_ratio", kNumber, "x", kField, "Time of a generation over its target, median"},
  {"requests.target_met_share", kNumber, "share", kField, "Share of the generations that met the target; a failed one did not"},
  {"requests.target_projected_ratio", kNumber, "x", kProgram, "Elapsed plus what the steps so far promise, over the target"},
  {"diffusion.first_block_ratio", kNumber, "x", kField, "First block, from the begin of the run, over the median of the others"},
  {"diffusion.frames_per_block", kNumber, "count", kField, "Frames per block"},
  {"diffusion.frames_per_second", kNumber, "frames/s", kField, "Frames per second, each frame counted once"},
  {"streaming.frames_sent", kNumber, "count", kField, "Frames sent"},
  {"streaming.drop_ratio", kNumber, "share", kField, "Frames dropped over sent and dropped"},

  // --- against another run
  {"compare.env_changes", kNumber, "count", kProgram, "Differences of library, driver or hardware from the other run"},
  {"native.step_ratio", kNumber, "x", kProgram, "Step time over that of the same work with native attention"},

  // --- genscope itself, and what a program records
  {"recorder.probe_steady_ratio", kNumber, "share", kField, "CPU time of our sampler from its first reading on, over that time"},
  {"recorder.dropped_spans", kNumber, "count", kField, "Spans that were not recorded, because buffers were full"},
  {"advice.fired", kNumber, "count", kField, "Other rules that fired with hint or worse; known to the rules that ask for it, which come last"},
  {"counter.mean[]", kNumber, "", kField, "Mean of a counter of the program"},
  {"counter.max[]", kNumber, "", kField, "Greatest value of a counter of the program"},
  {"counter.last[]", kNumber, "", kField, "Last value of a counter of the program"},
  {"tag[]", kText, "", kProgram, "Tag of the run"},
};
// clang-format on

std::span<const FactName> all_facts() noexcept;

// The row of `stage_groups.exclusive_share[x]`, or of a plain name; null if there is none.
const FactName* find_fact(std::string_view fact) noexcept;

// The known name nearest to a mistyped one, keeping its key: "stage_groups.exclusive_share[save]";
// "" if none is near.
std::string nearest_fact(std::string_view fact);

}  // namespace genscope::advice

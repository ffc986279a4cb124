// Every built-in rule: facts on which it fires, and a near miss on which it knows all it needs and
// does not. The near miss is the first with one or a few facts changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "advise/expression.h"
#include "advise/testing/facts.h"
#include "test_paths.h"

namespace genscope {
namespace {

struct FactPair {
  const char* rule;
  const char* fires;
  const char* change;
};

// clang-format off
constexpr FactPair kPairs[] = {
  // timing
  {"TIME-ASYNC", "gpu.present=true span_clock.gpu=false steps.second_ratio=0.4 span_clock.last_span_share=0.1 span_clock.stages_per_busy_ratio=1", "steps.second_ratio=0.6"},
  {"TIME-ASYNC", "gpu.present=true span_clock.gpu=false span_clock.last_span_share=0.31", "gpu.present=false"},
  {"TIME-ASYNC", "gpu.present=true span_clock.gpu=false span_clock.stages_per_busy_ratio=0.89", "span_clock.gpu=true"},
  {"TIME-BLOCKING", "gpu.present=true env.launch_blocking=true env.profiler_active=false", "env.launch_blocking=false"},
  {"TIME-BLOCKING", "gpu.present=true env.launch_blocking=true env.profiler_active=false", "gpu.present=false"},
  {"WARM-FIRST", "steps.first_ratio=1.6 steps.steady_cv=0.02", "steps.first_ratio=1.5"},
  {"WARM-FIRST", "steps.first_ratio=9 steps.steady_cv=0.3", "steps.first_ratio=7"},
  {"WARM-FIRST", "steps.first_ratio=10.3 steps.steady_cv=0.02 set.compile=none", "set.compile=max-autotune"},
  {"WARM-FIRST", "steps.first_ratio=9 steps.steady_cv=0.3", "diffusion.first_block_ratio=2"},
  {"COMPILE-COLD", "steps.first_ratio=11 compile.active=true gpu.first_step_busy_ratio=0.1", "gpu.first_step_busy_ratio=0.5"},
  {"COMPILE-RECOMP", "steps.slow_at_shape_count=1 set.compile=default compile.graph_growth=0", "steps.slow_at_shape_count=0"},
  {"COMPILE-RECOMP", "steps.slow_at_shape_count=1 set.compile=default compile.graph_growth=0", "set.compile=none"},
  {"COMPILE-RECOMP", "steps.slow_at_shape_count=0 compile.graph_growth=2", "compile.graph_growth=0"},
  {"COMPILE-OFF", "set.compile=none utilisation.bound=compute set.steps=28 set.images=2 steps.shape_changes=0 utilisation.mfu=0.38", "set.images=1"},
  // placement
  {"OFFL-SEQ", "set.offload=sequential gpu.busy_ratio=0.3 steps.steady_p50_ns=1900e6 utilisation.offload_ns=950e6", "set.offload=model"},
  {"OFFL-SEQ", "set.offload=sequential gpu.busy_ratio=0.49 steps.steady_p50_ns=480e6 utilisation.offload_ns=950e6", "steps.steady_p50_ns=460e6"},
  {"OFFL-NEEDLESS", "set.offload=model model.total_bytes=16e9 utilisation.peak_bytes=4e9 gpu.memory_total_bytes=24e9", "model.total_bytes=17e9"},
  {"OFFL-GROUP", "set.offload=group set.offload_type=block_level set.offload_low_cpu_mem=true", "set.offload_type=leaf_level"},
  {"OFFL-PIN", "set.offload=group step_traffic.h2d_bytes_per_second=9e9 gpu.link_bytes_per_second=25e9", "step_traffic.h2d_bytes_per_second=11e9"},
  {"OFFL-SWITCH", "steps.slow_count=2 steps.slow_first=true steps.slow_inner_count=1 model.experts=2", "steps.slow_count=3 steps.slow_inner_count=2"},
  {"OFFL-SWITCH", "steps.slow_count=2 steps.slow_first=true steps.slow_inner_count=1 model.experts=2", "steps.slow_inner_count=0"},
  {"DEV-CPU", "gpu.present=true steps.count=4 model.device[denoiser]=cpu", "model.device[denoiser]=gpu gpu.tree_memory_peak_bytes=12e9"},
  {"DEV-CPU", "gpu.present=true steps.count=4 model.device[denoiser]=gpu gpu.tree_memory_peak_bytes=0", "gpu.present=false"},
  {"DEV-META", "gpu.present=true set.device_map=auto model.off_gpu_share=0.2", "model.off_gpu_share=0"},
  {"DEV-SPREAD", "gpus_used=2 device_overlap_ratio=0.01", "device_overlap_ratio=0.4"},
  // precision
  {"DT-BF16-OLD", "gpu.capability=7.5 model.dtype[denoiser]=bf16", "gpu.capability=8"},
  {"DT-FP32", "gpu.present=true model.bytes_per_param[denoiser]=4", "model.bytes_per_param[denoiser]=2"},
  {"DT-AUTOCAST", "set.autocast=true model.dtype[denoiser]=fp16", "model.dtype[denoiser]=fp32"},
  {"DT-TF32", "model.dtype[denoiser]=fp32 gpu.capability=8.6 env.matmul_precision=highest", "env.matmul_precision=high"},
  {"DT-FP8-CAST", "model.dtype[denoiser]=fp8_e4m3 set.compute_dtype=bf16 gpu.fp8=true", "gpu.fp8=false"},
  {"Q-GGUF", "model.quant[denoiser]=gguf model.total_bytes=12e9 model.bytes[denoiser]=7e9 model.params[denoiser]=12e9 utilisation.peak_bytes=3e9 gpu.memory_total_bytes=24e9", "gpu.memory_total_bytes=16e9"},
  {"Q-BNB", "model.quant[denoiser]=nf4 gpu.memory_headroom_share=0.4", "gpu.memory_headroom_share=0.3"},
  // attention
  {"ATT-MASK", "set.attn_mask_ones=true", "set.attn_mask_ones=false"},
  {"ATT-MATH", "set.attn=math", "set.attn=sdpa utilisation.attention_bytes=1e9 allocator.step_rise_bytes=4e8"},
  {"ATT-MATH", "set.attn=sdpa utilisation.attention_bytes=1e9 allocator.step_rise_bytes=1.1e9", "allocator.step_rise_bytes=1.6e9"},
  {"ATT-ALLOC", "allocator.ooms=1 allocator.oom_request_bytes=60e9 gpu.memory_total_bytes=24e9", "allocator.oom_request_bytes=2e9"},
  {"ATT-SLICE", "set.attn_slicing=true set.attn=sdpa", "set.attn_slicing=false"},
  {"ATT-FAST", "utilisation.attention_share=0.5 set.attn=sdpa", "utilisation.attention_share=0.4"},
  {"ATT-NOOP", "set.attn=sage native.step_ratio=0.99", "native.step_ratio=0.7"},
  // steps
  {"CFG-2X", "utilisation.forwards_per_step=2", "utilisation.forwards_per_step=1"},
  {"CFG-DEFAULT", "model.passes[denoiser]=2", "model.passes[denoiser]=1"},
  {"STEP-DISTIL", "model.distilled=true set.steps=20", "set.steps=8"},
  {"STEP-CACHE", "set.steps=28 utilisation.mfu=0.5 set.cache=none", "set.cache=fbc"},
  {"STEP-CACHE-NOOP", "set.cache=teacache set.steps=28 steps.short_count=0 steps.steady_cv=0.01", "steps.short_count=9 steps.steady_cv=0.4"},
  {"STEP-CACHE-NOOP", "set.cache=teacache set.steps=28 steps.short_count=0 steps.steady_cv=0.01", "steps.steady_cv=0.06"},
  {"STEP-CACHE-FEW", "set.cache=teacache set.steps=8", "set.steps=9"},
  {"SYNC-STEP", "gpu.present=true step_traffic.syncs_per_step=1 steps.scheduler_share=0.01", "step_traffic.syncs_per_step=0"},
  {"SYNC-STEP", "gpu.present=true step_traffic.syncs_per_step=0 steps.scheduler_share=0.06", "steps.scheduler_share=0.05"},
  {"SYNC-STEP", "gpu.present=true step_traffic.syncs_per_step=0 steps.scheduler_share=0.06", "gpu.present=false"},
  {"HOST-REBUILD", "step_traffic.h2d_copies_per_step=2 set.offload=none", "set.offload=group"},
  {"HOST-HOOKS", "steps.hook_share=0.02", "steps.hook_share=0.01"},
  {"STEP-OUTLIER", "slow_step.ratio=9 slow_step.share=0.1 steps.count=40 steps.slow_inner_count=1 slow_step.number=17 slow_step.meanwhile=x", "steps.slow_inner_count=4"},
  {"STEP-OUTLIER", "slow_step.ratio=9 slow_step.share=0.1 steps.count=40 steps.slow_inner_count=1", "slow_step.ratio=3.9"},
  {"STEP-OUTLIER", "slow_step.ratio=9 slow_step.share=0.1 steps.count=40 steps.slow_inner_count=1", "slow_step.share=0.01"},
  {"STEP-PAUSES", "steps.slow_every=10 slow_step.ratio=5", "slow_step.ratio=2.4"},
  {"CPU-BOUND", "gpu.busy_ratio=0.7 host.main_thread_busy_ratio=0.99 steps.steady_p50_ns=620e6 utilisation.predicted_step_ns=160e6", "utilisation.predicted_step_ns=400e6"},
  // vae
  {"VAE-SHARE", "stage_groups.exclusive_share[vae_decode]=0.16 set.frames=1", "set.frames=81"},
  {"VAE-SHARE", "stage_groups.exclusive_share[vae_decode]=0.75", "stage_groups.exclusive_share[vae_decode]=0.14"},
  {"VAE-FP32", "model.dtype[vae]=fp32 gpu.capability=8.9", "gpu.capability=7.5"},
  {"VAE-OOM", "set.vae_tiling=false utilisation.vae_bytes=15e9 gpu.memory_free_bytes=8e9 allocator.oom_stage=none", "set.vae_tiling=true"},
  {"VAE-OOM", "allocator.oom_stage=vae_decode", "allocator.oom_stage=denoise set.vae_tiling=false utilisation.vae_bytes=1e9 gpu.memory_free_bytes=8e9"},
  {"VAE-TILE-NEEDLESS", "set.vae_tiling=true utilisation.vae_bytes=3e9 gpu.memory_free_bytes=8e9", "gpu.memory_free_bytes=5e9"},
  {"VAE-GRAD", "set.vae_grad=true set.training=false", "set.training=true"},
  {"CONV3D-29", "env.torch=2.9.1+cu128 env.cudnn=9.10.2 model.conv3d=true", "env.torch=2.10.0"},
  {"CONV3D-29", "env.torch=2.9.0 env.cudnn=9.14.9 model.conv3d=true", "env.cudnn=9.15.0"},
  {"MIOPEN-FIND", "env.backend=rocm stage_groups.first_ratio[vae_decode]=9", "stage_groups.first_ratio[vae_decode]=2"},
  {"MIOPEN-FIND", "env.backend=rocm stage_groups.first_ratio[vae_decode]=9 env.miopen_find_mode=NORMAL", "env.miopen_find_mode=FAST"},
  {"CONV-LAYOUT", "model.conv_share=0.6 set.memory_format=contiguous", "set.memory_format=channels_last"},
  {"CUDNN-TUNE", "steps.shape_changes=0 model.conv_share=0.6 env.cudnn_benchmark=false", "steps.shape_changes=3"},
  // memory
  {"MEM-FRAG", "allocator.reserved_bytes=20e9 allocator.allocated_bytes=12e9 gpu.memory_total_bytes=24e9 allocator.retries=2 allocator.ooms=0", "allocator.retries=0"},
  {"MEM-FRAG", "allocator.reserved_bytes=20e9 allocator.allocated_bytes=12e9 gpu.memory_total_bytes=24e9 allocator.retries=0 allocator.ooms=1", "allocator.allocated_bytes=16e9"},
  {"MEM-NOTFRAG", "allocator.ooms=1 allocator.reserved_bytes=23e9 allocator.allocated_bytes=22.8e9", "allocator.allocated_bytes=20e9"},
  {"MEM-SPILL", "gpu.memory_peak_share=0.98 allocator.ooms=0 steps.jump_ratio=5 steps.steady_p50_ns=900e6 utilisation.predicted_step_ns=450e6", "steps.jump_ratio=2"},
  {"MEM-PARTIAL", "load.partial=false load.lowvram_patches=120", "load.lowvram_patches=0"},
  {"MEM-LEAK-V", "requests.count=4 allocator.request_growth_ratio=0.08", "requests.count=3"},
  {"MEM-LEAK-H", "host.rss_low_bytes_per_second=2e6 steps.trend_percent_per_100=4 host.rss_growth_ratio=0.1", "steps.trend_percent_per_100=0"},
  {"MEM-LEAK-H", "host.rss_low_bytes_per_second=2e4 steps.trend_percent_per_100=40 host.rss_growth_ratio=0.06", "host.rss_growth_ratio=0.04"},
  {"MEM-LEAK-H", "host.rss_low_bytes_per_second=2e6 steps.trend_percent_per_100=0 host.rss_growth_ratio=0.8", "host.rss_low_bytes_per_second=-1"},
  {"HOST-FULL", "host.memory_peak_share=0.96", "host.memory_peak_share=0.95"},
  {"HOST-SWAP", "host.swap_in_bytes_per_second=5e7 host.major_faults_per_second=3 host.read_bytes_per_second=6e7 gpu.busy_ratio=0.1", "host.swap_in_bytes_per_second=0"},
  // processes
  {"CPU-OTHERS", "time.on_cpu_share=0.6 time.ready_share=0.2 time.cpu_wait_share=0.4 host.other_cores=1.2 host.own_cores=0.7 host.machine_cpus=2", "time.on_cpu_share=0.02"},
  {"CPU-OTHERS", "time.on_cpu_share=0.6 time.ready_share=0.2 time.cpu_wait_share=0.4 host.other_cores=1.2 host.own_cores=0.7 host.machine_cpus=2", "host.other_cores=0.1 host.own_cores=1.9"},
  {"CPU-OTHERS", "time.on_cpu_share=0.6 time.ready_share=0.2 time.cpu_wait_share=0.4 host.other_cores=1.2 host.own_cores=0.7 host.machine_cpus=2", "time.cpu_wait_share=0.1"},
  {"CPU-OTHERS", "time.on_cpu_share=0.6 time.ready_share=0.2 time.cpu_wait_share=0.4 host.other_cores=1.2 host.own_cores=0.7 host.machine_cpus=2 host.throttled_share=0", "host.machine_cpus=8"},
  {"CPU-STEAL", "host.steal_share=0.06", "host.steal_share=0.05"},
  {"CPU-QUOTA", "host.throttled_share=0.3", "host.throttled_share=0.04"},
  {"CPU-OVERSUB", "time.cpu_wait_share=0.7 host.threads_seen=16 host.cpus=4 host.machine_cpus=4 host.own_cores=3.9 host.other_cores=0.1", "host.other_cores=2"},
  {"CPU-OVERSUB", "time.cpu_wait_share=0.7 host.threads_seen=16 host.cpus=4 host.machine_cpus=4 host.own_cores=3.9 host.other_cores=0.1", "time.cpu_wait_share=0.2"},
  {"CPU-OVERSUB", "time.cpu_wait_share=0.7 host.threads_seen=16 host.cpus=4 host.machine_cpus=4 host.own_cores=3.9 host.other_cores=0.1", "host.own_cores=2"},
  {"STORAGE-WAIT", "time.storage_share=0.3 time.covered_seconds=5", "time.storage_share=0.2"},
  {"STORAGE-WAIT", "time.storage_share=0.3 time.covered_seconds=5", "time.covered_seconds=0.5"},
  {"READ-COLD", "host.read_bytes=2e9 time.storage_share=0.4 host.major_faults_per_second=1", "host.read_bytes=9e7"},
  {"READ-COLD", "host.read_bytes=2e9 time.storage_share=0 host.major_faults_per_second=400", "host.major_faults_per_second=2"},
  {"OUTPUT-HUGE", "host.write_bytes=6e8 time.covered_seconds=3", "time.covered_seconds=7"},
  {"OUTPUT-HUGE", "host.write_bytes=3e9 time.covered_seconds=20", "host.write_bytes=9e8"},
  {"OUTPUT-HUGE", "host.write_bytes=3e9 time.covered_seconds=20", "time.covered_seconds=3600"},
  {"SWAP-OWN", "host.swap_peak_bytes=2e9 host.rss_peak_bytes=8e9 host.major_faults_per_second=400", "host.major_faults_per_second=2"},
  {"SWAP-OWN", "host.swap_peak_bytes=2e9 host.rss_peak_bytes=8e9 host.major_faults_per_second=400", "host.swap_peak_bytes=1e6"},
  {"PAUSES", "steps.count=0 pauses.count=6 pauses.every_seconds=1.1 pauses.share=0.2", "pauses.count=3"},
  {"PAUSES", "steps.count=0 pauses.count=6 pauses.every_seconds=1.1 pauses.share=0.2", "pauses.share=0.04"},
  {"MEM-OOM", "host.oom_kills=1", "host.oom_kills=0"},
  {"ONE-CORE", "host.cpus=16 time.on_cpu_share=0.99 host.own_cores=1 time.covered_seconds=30", "host.own_cores=1.3"},
  {"ONE-CORE", "host.cpus=16 time.on_cpu_share=0.99 host.own_cores=1 time.covered_seconds=30", "host.cpus=2"},
  {"MOSTLY-WAITS", "time.other_share=0.9 time.on_cpu_share=0.1 time.covered_seconds=9", "time.other_share=0.6"},
  {"MOSTLY-WAITS", "time.other_share=0.9 time.on_cpu_share=0.1 time.covered_seconds=9", "time.on_cpu_share=0.001"},
  {"MEM-GROWS", "steps.count=0 host.run_low_bytes_per_second=1e6 host.run_growth_ratio=2 time.covered_seconds=60", "host.run_growth_ratio=0.3"},
  {"MEM-GROWS", "steps.count=0 host.run_low_bytes_per_second=1e6 host.run_growth_ratio=2 time.covered_seconds=60", "time.covered_seconds=4"},
  {"STEP-SCHED", "steps.scheduler_share=0.2 gpu.present=false", "steps.scheduler_share=0.04"},
  // loading
  {"LOAD-REPEAT", "loads.repeats=1", "loads.repeats=0"},
  {"LOAD-SLOW", "loads.bytes_per_second=2e8 stage_groups.exclusive_share[load]=0.1", "loads.bytes_per_second=2e9"},
  {"LOAD-SLOW", "loads.bytes_per_second=2e9 stage_groups.exclusive_share[load]=0.31", "stage_groups.exclusive_share[load]=0.3"},
  {"TE-REPEAT", "loads.prompt_repeats=3 stage_groups.exclusive_share[text_encode]=0.2", "training.encode_share=0.2"},
  {"TE-REPEAT", "loads.prompt_repeats=3 stage_groups.exclusive_share[text_encode]=0.06", "stage_groups.exclusive_share[text_encode]=0.05"},
  {"TE-PLACE", "gpu.present=true model.dtype[text_encoder]=fp32", "model.dtype[text_encoder]=bf16 model.device[text_encoder]=gpu text.swaps=0"},
  {"TE-PLACE", "gpu.present=true model.dtype[text_encoder]=bf16 model.device[text_encoder]=gpu text.swaps=2", "text.swaps=0"},
  {"TE-PLACE", "gpu.present=true model.dtype[text_encoder]=bf16 model.device[text_encoder]=cpu gpu.memory_headroom_share=0.5 text.swaps=0", "gpu.memory_headroom_share=0.05"},
  {"TE-FP16-T5", "model.arch[text_encoder]=t5_xxl model.dtype[text_encoder]=fp16", "model.dtype[text_encoder]=bf16"},
  {"TXT-PAD", "text.padded=512 text.tokens=40", "text.tokens=200"},
  {"REF-TOKENS", "set.reference_tokens=4096 set.target_tokens=4096", "set.reference_tokens=1024"},
  {"RES-QUAD", "set.tokens=20000 model.train_tokens=4096 utilisation.attention_share=0.3", "set.tokens=16384"},
  {"LORA-UNFUSED", "lora.active=1 lora.fused=false lora.switches=0", "lora.switches=4"},
  {"LORA-MANY", "lora.loaded=11 lora.switch_trend=6", "lora.loaded=10"},
  {"SAVE-SLOW", "stage_groups.exclusive_share[save]=0.2", "stage_groups.exclusive_share[save]=0.05 stage_groups.exclusive_share[post]=0.04"},
  {"SAVE-SLOW", "stage_groups.exclusive_share[save]=0.06 stage_groups.exclusive_share[post]=0.06", "stage_groups.exclusive_share[post]=0.03"},
  {"PREVIEW", "set.preview_every=1 set.preview_method=taesd", "set.preview_method=latent2rgb"},
  {"VLM-PIXELS", "vlm.tokens_per_image=4000", "vlm.tokens_per_image=1280"},
  // training
  {"IN-BOUND", "set.training=true training.input_wait_share=0.2", "training.input_wait_share=0.1"},
  {"TR-CACHE", "set.training=true training.encode_share=0.2", "set.training=false"},
  {"TR-CKPT", "set.training=true set.grad_checkpointing=true gpu.memory_headroom_share=0.5 set.checkpointing_in_eval=false", "gpu.memory_headroom_share=0.3"},
  {"TR-METRIC", "set.training=true step_traffic.log_syncs_per_step=1", "step_traffic.log_syncs_per_step=0.02"},
  {"RANK-INPUT", "ranks.count=8 ranks.input_wait_ratio=1.3", "ranks.input_wait_ratio=1.2"},
  {"RANK-SLOW", "ranks.count=8 ranks.wait_p50_share=0.2 ranks.wait_min_share=0.02", "ranks.wait_min_share=0.15"},
  // machine
  {"RANK-STEP", "ranks.count=8 ranks.step_ratio=1.6", "ranks.step_ratio=1.5"},
  {"SPANS-DROPPED", "recorder.dropped_spans=3", "recorder.dropped_spans=0"},
  {"THERMAL", "throttling.thermal_share=0.5 gpu.clock_ratio=0.24", "throttling.thermal_share=0.05"},
  {"POWER-CAP", "throttling.power_cap_share=0.8 gpu.clock_ratio=0.9", "gpu.clock_ratio=0.99"},
  {"BENCH-NOISE", "steps.steady_cv=0.05 gpu.clock_drift_ratio=0.15 gpu.other_processes=0 set.benchmark=false", "gpu.clock_drift_ratio=0.01"},
  {"BENCH-NOISE", "steps.steady_cv=0.05 gpu.clock_drift_ratio=0.01 gpu.other_processes=1 set.benchmark=false", "gpu.other_processes=0"},
  {"ENV-DRIFT", "compare.env_changes=2", "compare.env_changes=0"},
  {"SELF-COST", "recorder.probe_steady_ratio=0.02", "recorder.probe_steady_ratio=0.001"},
  {"MFU-LOW", "utilisation.mfu=0.25 utilisation.peak_tflops=989", "utilisation.mfu=0.35"},
  {"MFU-LOW", "utilisation.mfu=0.35 utilisation.peak_tflops=165", "requests.failed=1"},
  // general
  {"TARGET-MISS", "requests.target_ratio=1.2", "requests.target_ratio=1"},
  {"TARGET-2X", "requests.target_ratio=3.2", "requests.target_ratio=2"},
  {"TARGET-PACE", "steps.count=6 requests.target_projected_ratio=1.1", "steps.count=5"},
  {"ATT-PROC", "set.attn_processor=AttnProcessor2_0 model.arch[denoiser]=qwen_image model.family[denoiser]=mmdit", "model.arch[denoiser]=sdxl model.family[denoiser]=unet"},
  {"ATT-PROC-UNET", "set.attn_processor=AttnProcessor model.family[denoiser]=unet", "set.attn_processor=AttnProcessor2_0"},
  {"MODEL-EDIT", "model.edit=true set.reference_tokens=0", "set.reference_tokens=4096"},
  {"TARGET-RATE", "requests.count=10 requests.target_met_share=0.7", "requests.target_met_share=0.8"},
  {"RUN-FAILED", "requests.failed=1", "requests.failed=0"},
  {"GPU-UNDERUSED", "gpu.busy_ratio=0.6", "gpu.busy_ratio=0.7"},
  {"MEM-UNUSED", "gpu.memory_headroom_share=0.6", "gpu.memory_headroom_share=0.5"},
  {"GPU-IDLE", "gpu.busy_ratio=0.4", "gpu.busy_ratio=0.5"},
  {"MEM-HIGH", "gpu.memory_peak_share=0.91", "gpu.memory_peak_share=0.9"},
  {"STAGE-TOP", "stage_groups.top=vae_decode stage_groups.top_exclusive_share=0.4", "stage_groups.top=denoise"},
  {"LAYER-TOP", "layers.top_share=0.4", "layers.top_share=0.3"},
  {"TEMP-HIGH", "gpu.temperature_max_celsius=86", "gpu.temperature_max_celsius=85"},
  {"STREAM-DROP", "streaming.drop_ratio=0.06", "streaming.drop_ratio=0.05"},
  {"STREAM-FPS", "streaming.frames_sent=30 diffusion.frames_per_second=7.5", "diffusion.frames_per_second=30"},
  {"BLOCK-LARGE", "streaming.frames_sent=30 diffusion.frames_per_block=12", "diffusion.frames_per_block=8"},
  {"FIRST-BLOCK", "diffusion.first_block_ratio=4", "diffusion.first_block_ratio=1.5"},
  {"STEP-MANY", "set.steps=31", "set.steps=30"},
  {"MULTI-GPU", "gpu.count=8 gpus_used=1", "gpus_used=8"},
  // settings
  {"CKPT-INFER", "set.grad_checkpointing=true", "set.training=true"},
  {"CKPT-INFER", "set.grad_checkpointing=true set.training=false", "set.grad_checkpointing=false"},
  {"ATT-SAGE", "utilisation.attention_share=0.6 set.attn=sdpa gpu.capability=8.9 model.arch[denoiser]=cogvideox", "model.arch[denoiser]=wan"},
  {"STEP-LORA", "set.steps=50 model.arch[denoiser]=qwen_image", "model.distilled=true"},
  {"FP8-COMPUTE", "gpu.fp8=true model.dtype[denoiser]=bf16 set.compile=default", "set.compile=none"},
  {"FP8-STORE", "model.dtype[denoiser]=bf16 model.total_bytes=24e9 model.bytes[denoiser]=20e9 utilisation.peak_bytes=3e9 gpu.memory_total_bytes=24e9", "gpu.memory_total_bytes=32e9"},
  {"Q-NF4", "model.dtype[denoiser]=bf16 model.bytes[denoiser]=24e9 utilisation.peak_bytes=3e9 gpu.memory_total_bytes=24e9", "gpu.memory_total_bytes=48e9"},
  {"Q-SVDQ", "model.arch[denoiser]=flux model.dtype[denoiser]=bf16 gpu.capability=8.9 model.total_bytes=22e9 utilisation.peak_bytes=3e9 gpu.memory_total_bytes=24e9", "gpu.capability=9.0"},
  {"Q-SVDQ", "model.arch[denoiser]=qwen_image model.dtype[denoiser]=bf16 gpu.capability=12.0 model.total_bytes=40e9 utilisation.peak_bytes=3e9 gpu.memory_total_bytes=32e9", "gpu.memory_total_bytes=96e9"},
  {"CFG-BATCH", "utilisation.forwards_per_step=2 gpu.memory_headroom_share=0.5", "gpu.memory_headroom_share=0.2"},
  {"CFG-BATCH", "utilisation.forwards_per_step=2 gpu.memory_headroom_share=0.5", "utilisation.forwards_per_step=1"},
  {"OFFL-MODEL", "allocator.ooms=1 set.offload=none model.bytes[denoiser]=12e9 utilisation.peak_bytes=3e9 gpu.memory_total_bytes=24e9", "model.bytes[denoiser]=20e9"},
  {"OFFL-STREAM", "set.frames=81 set.offload=model steps.steady_p50_ns=9000e6 utilisation.offload_ns=1000e6", "set.frames=1"},
  {"VAE-TINY", "stage_groups.exclusive_share[vae_decode]=0.4 model.family[denoiser]=unet", "stage_groups.exclusive_share[vae_decode]=0.2"},
  {"VAE-SLICE", "set.batch=4 gpu.memory_peak_share=0.9", "set.batch=1"},
  {"QKV-FUSE", "model.family[denoiser]=unet set.compile=default", "model.family[denoiser]=mmdit"},
  {"CFG-LATE", "utilisation.forwards_per_step=2 set.steps=28", "set.steps=8"},
  {"LORA-HOTSWAP", "lora.switches=2 set.compile=default", "set.compile=none"},
};
// clang-format on

bool rule_fired(const Advice& advice, const std::string& rule) {
  return std::any_of(advice.findings.begin(), advice.findings.end(),
                     [&](const Finding& found) { return found.rule.id == rule; });
}

bool knew(const Advice& advice, const std::string& rule) {
  return std::find(advice.silent.begin(), advice.silent.end(), rule) != advice.silent.end();
}

TEST(Rules, EachFiresAndNearlyDoes) {
  for (const FactPair& pair : kPairs) {
    Facts facts = testing::facts(pair.fires);
    EXPECT_TRUE(rule_fired(advise(facts), pair.rule)) << pair.rule << ": " << pair.fires;
    testing::set_facts(facts, pair.change);
    EXPECT_TRUE(knew(advise(facts), pair.rule)) << pair.rule << " after " << pair.change;
  }
}

TEST(Rules, NoneLacksAPairAndNoPairARule) {
  std::set<std::string> paired;
  for (const FactPair& pair : kPairs) paired.insert(pair.rule);
  std::set<std::string> rules;
  for (const Rule& rule : built_in_rules()) rules.insert(rule.id);
  EXPECT_EQ(paired, rules);
  EXPECT_EQ(rules.size(), built_in_rules().size());
}

// The program carries its rules as data; the files are what people read and edit.
TEST(Rules, InsideTheProgramAreThoseOfTheFiles) {
  std::set<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(GENSCOPE_SOURCE_DIR "/src/advise/rules")) {
    files.insert(entry.path());
  }
  std::vector<Rule> read;
  for (const std::filesystem::path& file : files) {
    Result<std::vector<Rule>> more = load_rules(file.string(), read);
    ASSERT_TRUE(more.ok()) << more.error().message;
    read = std::move(more).value();
  }
  const std::vector<Rule>& inside = built_in_rules();
  ASSERT_EQ(inside.size(), read.size());
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_TRUE(inside[i] == read[i]) << read[i].id;
}

TEST(Rules, EachSaysWhoSawIt) {
  EXPECT_EQ(built_in_rules().size(), 133u);
  for (const Rule& rule : built_in_rules()) EXPECT_FALSE(rule.citation.empty()) << rule.id;
}

TEST(Rules, ConflictsNameRules) {
  std::set<std::string> ids;
  for (const Rule& rule : built_in_rules()) ids.insert(rule.id);
  for (const Rule& rule : built_in_rules()) {
    for (const std::string& other : rule.conflicts) {
      EXPECT_TRUE(ids.contains(other)) << rule.id << " conflicts with " << other;
    }
  }
}

TEST(Rules, ContradictedOnesAreOfLowConfidence) {
  for (const Rule& rule : built_in_rules()) {
    const std::set<std::string> unsure = {"CONV-LAYOUT", "CUDNN-TUNE", "ATT-FAST", "OFFL-PIN"};
    if (unsure.contains(rule.id)) {
      EXPECT_EQ(rule.confidence, RuleConfidence::low) << rule.id;
    }
  }
}

// A rule's facts taken away one by one: it fires without one only if the rest decides, never
// because something was not measured.
TEST(Rules, ARuleThatNearlyFiresDoesNotFireForWantOfAFact) {
  for (const FactPair& pair : kPairs) {
    Facts facts = testing::facts(pair.fires);
    testing::set_facts(facts, pair.change);
    const std::map<std::string, FactValue, std::less<>> all = facts.all();
    for (const auto& [name, value] : all) {
      // Asked for by has(): not knowing of a compiler or of a setting counts as not having it.
      if (name == "set.compile" || name == "env.miopen_find_mode" || name == "requests.failed" ||
          name == "set.training" || name == "host.throttled_share" || name == "model.distilled" ||
          name == "diffusion.first_block_ratio" || name == "training.encode_share") {
        continue;
      }
      Facts fewer = facts;
      fewer.set_missing(name, "taken away");
      EXPECT_FALSE(rule_fired(advise(fewer), pair.rule)) << pair.rule << " without " << name;
    }
  }
}

TEST(Rules, NothingIsAdvisedOnNothing) {
  const Advice advice = advise(Facts{});
  EXPECT_TRUE(advice.findings.empty());
  EXPECT_EQ(advice.abstained.size() + advice.silent.size(), built_in_rules().size());
  EXPECT_TRUE(advice.silent.empty()) << advice.silent[0] << " claims to know";
}

// Older tools turned a sensor that was absent into "utilisation is only 0.0 %".
TEST(Rules, NoAdviceFromAnAbsentSensor) {
  Facts facts = testing::facts(
      "gpu.present=false steps.count=20 steps.steady_p50_ns=400e6 steps.first_ratio=1.1");
  for (const char* name : {"gpu.busy_ratio", "gpu.temperature_max_celsius", "gpu.memory_peak_share",
                           "gpu.memory_headroom_share"}) {
    facts.set_missing(name, "no GPU was found");
  }
  const Advice advice = advise(facts);
  EXPECT_TRUE(advice.findings.empty()) << advice.findings[0].rule.id;
  const auto idle = std::find_if(advice.abstained.begin(), advice.abstained.end(),
                                 [](const Abstention& one) { return one.rule == "GPU-IDLE"; });
  ASSERT_NE(idle, advice.abstained.end());
  EXPECT_EQ(idle->missing[0].second, "no GPU was found");
}

}  // namespace
}  // namespace genscope

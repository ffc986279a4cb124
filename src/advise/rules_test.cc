// Every built-in rule: facts on which it fires, and a near miss on which it knows all it needs and
// does not. The near miss is the first with one or a few facts changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "advise/expression.h"
#include "advise/testing/facts.h"

namespace genscope {
namespace {

struct Pair {
  const char* rule;
  const char* fires;
  const char* change;
};

// clang-format off
constexpr Pair kPairs[] = {
  // timing
  {"TIME-ASYNC", "gpu.present=true time.gpu_clock=false step.second=0.4 time.last_span_share=0.1 time.spans_per_gpu=1", "step.second=0.6"},
  {"TIME-ASYNC", "gpu.present=true time.gpu_clock=false time.last_span_share=0.31", "gpu.present=false"},
  {"TIME-ASYNC", "gpu.present=true time.gpu_clock=false time.spans_per_gpu=0.89", "time.gpu_clock=true"},
  {"TIME-BLOCKING", "env.launch_blocking=true env.profiler_active=false", "env.launch_blocking=false"},
  {"WARM-FIRST", "step.first=1.6 step.cv=0.02", "step.first=1.5"},
  {"WARM-FIRST", "step.first=10.3 step.cv=0.02 set.compile=none", "set.compile=max-autotune"},
  {"COMPILE-COLD", "step.first=11 compile.active=true gpu.util_first=0.1", "gpu.util_first=0.5"},
  {"COMPILE-RECOMP", "step.outliers_at_shape=1 compile.graph_growth=0", "step.outliers_at_shape=0"},
  {"COMPILE-RECOMP", "step.outliers_at_shape=0 compile.graph_growth=2", "compile.graph_growth=0"},
  {"COMPILE-OFF", "set.compile=none pred.bound=compute set.steps=28 set.images=2 fwd.shape_changes=0 mfu=0.38", "set.images=1"},
  // placement
  {"OFFL-SEQ", "set.offload=sequential gpu.util=0.3 step.med=1900 pred.offload_ms=950", "set.offload=model"},
  {"OFFL-SEQ", "set.offload=sequential gpu.util=0.49 step.med=480 pred.offload_ms=950", "step.med=460"},
  {"OFFL-NEEDLESS", "set.offload=model model.total_bytes=16e9 pred.peak_bytes=4e9 vram.total=24e9", "model.total_bytes=17e9"},
  {"OFFL-GROUP", "set.offload=group set.offload_type=block_level set.offload_low_cpu_mem=true", "set.offload_type=leaf_level"},
  {"OFFL-PIN", "set.offload=group h2d.rate=9e9 pcie.rate=25e9", "h2d.rate=11e9"},
  {"OFFL-SWITCH", "step.outliers=2 step.outlier_first=true step.outlier_mid=1 model.experts=2", "step.outliers=3 step.outlier_mid=2"},
  {"OFFL-SWITCH", "step.outliers=2 step.outlier_first=true step.outlier_mid=1 model.experts=2", "step.outlier_mid=0"},
  {"DEV-CPU", "gpu.present=true step.count=4 model.device[denoiser]=cpu", "model.device[denoiser]=gpu vram.tree_peak=12e9"},
  {"DEV-CPU", "gpu.present=true step.count=4 model.device[denoiser]=gpu vram.tree_peak=0", "gpu.present=false"},
  {"DEV-META", "gpu.present=true set.device_map=auto model.off_gpu_share=0.2", "model.off_gpu_share=0"},
  {"DEV-SPREAD", "gpu.used=2 gpu.overlap=0.01", "gpu.overlap=0.4"},
  // precision
  {"DT-BF16-OLD", "gpu.capability=7.5 model.dtype[denoiser]=bf16", "gpu.capability=8"},
  {"DT-FP32", "gpu.present=true model.bytes_per_param[denoiser]=4", "model.bytes_per_param[denoiser]=2"},
  {"DT-AUTOCAST", "set.autocast=true model.dtype[denoiser]=fp16", "model.dtype[denoiser]=fp32"},
  {"DT-TF32", "model.dtype[denoiser]=fp32 gpu.capability=8.6 env.matmul_precision=highest", "env.matmul_precision=high"},
  {"DT-FP8-CAST", "model.dtype[denoiser]=fp8_e4m3 set.compute_dtype=bf16 gpu.fp8=true", "gpu.fp8=false"},
  {"Q-GGUF", "model.quant[denoiser]=gguf model.total_bytes=12e9 model.bytes[denoiser]=7e9 model.params[denoiser]=12e9 pred.peak_bytes=3e9 vram.total=24e9", "vram.total=16e9"},
  {"Q-BNB", "model.quant[denoiser]=nf4 vram.headroom=0.4", "vram.headroom=0.3"},
  // attention
  {"ATT-MASK", "set.attn_mask_ones=true", "set.attn_mask_ones=false"},
  {"ATT-MATH", "set.attn=math", "set.attn=sdpa pred.attn_bytes=1e9 mem.step_jump=4e8"},
  {"ATT-MATH", "set.attn=sdpa pred.attn_bytes=1e9 mem.step_jump=1.1e9", "mem.step_jump=1.6e9"},
  {"ATT-ALLOC", "mem.ooms=1 mem.oom_request=60e9 vram.total=24e9", "mem.oom_request=2e9"},
  {"ATT-SLICE", "set.attn_slicing=true set.attn=sdpa", "set.attn_slicing=false"},
  {"ATT-FAST", "pred.attn_share=0.5 set.attn=sdpa", "pred.attn_share=0.4"},
  {"ATT-NOOP", "set.attn=sage native.step_ratio=0.99", "native.step_ratio=0.7"},
  // steps
  {"CFG-2X", "fwd.per_step=2", "fwd.per_step=1"},
  {"CFG-DEFAULT", "model.passes[denoiser]=2", "model.passes[denoiser]=1"},
  {"STEP-DISTIL", "model.distilled=true set.steps=20", "set.steps=8"},
  {"STEP-CACHE", "set.steps=28 mfu=0.5 set.cache=none", "set.cache=fbc"},
  {"STEP-CACHE-NOOP", "set.cache=teacache set.steps=28 step.short=0 step.cv=0.01", "step.short=9 step.cv=0.4"},
  {"STEP-CACHE-NOOP", "set.cache=teacache set.steps=28 step.short=0 step.cv=0.01", "step.cv=0.06"},
  {"STEP-CACHE-FEW", "set.cache=teacache set.steps=8", "set.steps=9"},
  {"SYNC-STEP", "sync.per_step=1 step.scheduler_share=0.01", "sync.per_step=0"},
  {"SYNC-STEP", "sync.per_step=0 step.scheduler_share=0.06", "step.scheduler_share=0.05"},
  {"HOST-REBUILD", "h2d.copies_per_step=2 set.offload=none", "set.offload=group"},
  {"HOST-HOOKS", "step.hook_share=0.02", "step.hook_share=0.01"},
  {"CPU-BOUND", "gpu.util=0.7 cpu.main=0.99 step.med=620 pred.step_ms=160", "pred.step_ms=400"},
  // vae
  {"VAE-SHARE", "stage.share[vae_decode]=0.16 set.frames=1", "set.frames=81"},
  {"VAE-SHARE", "stage.share[vae_decode]=0.75", "stage.share[vae_decode]=0.14"},
  {"VAE-FP32", "model.dtype[vae]=fp32 gpu.capability=8.9", "gpu.capability=7.5"},
  {"VAE-OOM", "set.vae_tiling=false pred.vae_bytes=15e9 vram.free=8e9 mem.oom_stage=none", "set.vae_tiling=true"},
  {"VAE-OOM", "mem.oom_stage=vae_decode", "mem.oom_stage=denoise set.vae_tiling=false pred.vae_bytes=1e9 vram.free=8e9"},
  {"VAE-TILE-NEEDLESS", "set.vae_tiling=true pred.vae_bytes=3e9 vram.free=8e9", "vram.free=5e9"},
  {"VAE-GRAD", "set.vae_grad=true set.training=false", "set.training=true"},
  {"CONV3D-29", "env.torch=2.9.1+cu128 env.cudnn=9.10.2 model.conv3d=true", "env.torch=2.10.0"},
  {"CONV3D-29", "env.torch=2.9.0 env.cudnn=9.14.9 model.conv3d=true", "env.cudnn=9.15.0"},
  {"MIOPEN-FIND", "env.backend=rocm stage.first[vae_decode]=9", "stage.first[vae_decode]=2"},
  {"MIOPEN-FIND", "env.backend=rocm stage.first[vae_decode]=9 env.miopen_find_mode=NORMAL", "env.miopen_find_mode=FAST"},
  {"CONV-LAYOUT", "model.conv_share=0.6 set.memory_format=contiguous", "set.memory_format=channels_last"},
  {"CUDNN-TUNE", "fwd.shape_changes=0 model.conv_share=0.6 env.cudnn_benchmark=false", "fwd.shape_changes=3"},
  // memory
  {"MEM-FRAG", "mem.reserved=20e9 mem.alloc=12e9 vram.total=24e9 mem.retries=2 mem.ooms=0", "mem.retries=0"},
  {"MEM-FRAG", "mem.reserved=20e9 mem.alloc=12e9 vram.total=24e9 mem.retries=0 mem.ooms=1", "mem.alloc=16e9"},
  {"MEM-NOTFRAG", "mem.ooms=1 mem.reserved=23e9 mem.alloc=22.8e9", "mem.alloc=20e9"},
  {"MEM-SPILL", "vram.used_share=0.98 mem.ooms=0 step.jump=5 step.med=900 pred.step_ms=450", "step.jump=2"},
  {"MEM-PARTIAL", "load.partial=false load.lowvram_patches=120", "load.lowvram_patches=0"},
  {"MEM-LEAK-V", "request.count=4 mem.peak_growth=0.08", "request.count=3"},
  {"MEM-LEAK-H", "host.rss_slope_low=2e6 step.trend=4 host.rss_growth=0.1", "step.trend=0"},
  {"MEM-LEAK-H", "host.rss_slope_low=2e4 step.trend=40 host.rss_growth=0.06", "host.rss_growth=0.04"},
  {"MEM-LEAK-H", "host.rss_slope_low=2e6 step.trend=0 host.rss_growth=0.8", "host.rss_slope_low=-1"},
  {"HOST-SWAP", "host.swap_in_rate=5e7 host.majflt_rate=3 disk.read_rate=6e7 gpu.util=0.1", "host.swap_in_rate=0"},
  // loading
  {"LOAD-REPEAT", "load.repeats=1", "load.repeats=0"},
  {"LOAD-SLOW", "load.rate=2e8 stage.share[load]=0.1", "load.rate=2e9"},
  {"LOAD-SLOW", "load.rate=2e9 stage.share[load]=0.31", "stage.share[load]=0.3"},
  {"TE-REPEAT", "text.repeats=3 stage.share[text_encode]=0.06", "stage.share[text_encode]=0.05"},
  {"TE-PLACE", "gpu.present=true model.dtype[text_encoder]=fp32", "model.dtype[text_encoder]=bf16 model.device[text_encoder]=gpu text.swaps=0"},
  {"TE-PLACE", "gpu.present=true model.dtype[text_encoder]=bf16 model.device[text_encoder]=gpu text.swaps=2", "text.swaps=0"},
  {"TE-PLACE", "gpu.present=true model.dtype[text_encoder]=bf16 model.device[text_encoder]=cpu vram.headroom=0.5 text.swaps=0", "vram.headroom=0.05"},
  {"TE-FP16-T5", "model.arch[text_encoder]=t5_xxl model.dtype[text_encoder]=fp16", "model.dtype[text_encoder]=bf16"},
  {"TXT-PAD", "text.padded=512 text.tokens=40", "text.tokens=200"},
  {"REF-TOKENS", "set.reference_tokens=4096 set.target_tokens=4096", "set.reference_tokens=1024"},
  {"RES-QUAD", "set.tokens=20000 model.train_tokens=4096 pred.attn_share=0.3", "set.tokens=16384"},
  {"LORA-UNFUSED", "lora.active=1 lora.fused=false lora.switches=0", "lora.switches=4"},
  {"LORA-MANY", "lora.loaded=11 lora.switch_trend=6", "lora.loaded=10"},
  {"SAVE-SLOW", "stage.share[save]=0.2", "stage.share[save]=0.05 stage.share[post]=0.04"},
  {"SAVE-SLOW", "stage.share[save]=0.06 stage.share[post]=0.06", "stage.share[post]=0.03"},
  {"PREVIEW", "set.preview_every=1 set.preview_method=taesd", "set.preview_method=latent2rgb"},
  {"VLM-PIXELS", "vlm.tokens_per_image=4000", "vlm.tokens_per_image=1280"},
  // training
  {"IN-BOUND", "set.training=true input.wait_share=0.2", "input.wait_share=0.1"},
  {"TR-CACHE", "set.training=true train.encode_share=0.2", "set.training=false"},
  {"TR-CKPT", "set.training=true set.grad_checkpointing=true vram.headroom=0.5 set.checkpointing_in_eval=false", "vram.headroom=0.3"},
  {"TR-METRIC", "set.training=true sync.log_per_step=1", "sync.log_per_step=0.02"},
  {"RANK-INPUT", "rank.count=8 rank.input_skew=1.3", "rank.input_skew=1.2"},
  {"RANK-SLOW", "rank.count=8 rank.wait_med=0.2 rank.wait_min=0.02", "rank.wait_min=0.15"},
  // machine
  {"THERMAL", "gpu.throttle_thermal_share=0.5 gpu.sm_clock_ratio=0.24", "gpu.throttle_thermal_share=0.05"},
  {"POWER-CAP", "gpu.throttle_power_share=0.8 gpu.sm_clock_ratio=0.9", "gpu.sm_clock_ratio=0.99"},
  {"BENCH-NOISE", "step.cv=0.05 gpu.clock_drift=0.15 gpu.others=0 set.benchmark=false", "gpu.clock_drift=0.01"},
  {"BENCH-NOISE", "step.cv=0.05 gpu.clock_drift=0.01 gpu.others=1 set.benchmark=false", "gpu.others=0"},
  {"ENV-DRIFT", "compare.env_changes=2", "compare.env_changes=0"},
  {"SELF-COST", "self.sampler_share=0.02 self.span_share=0.0001", "self.sampler_share=0.001"},
  {"MFU-LOW", "mfu=0.25 gpu.peak_tflops=989", "mfu=0.35"},
  {"MFU-LOW", "mfu=0.35 gpu.peak_tflops=165", "run.failed=1"},
  // documents
  {"TARGET-MISS", "target.ratio=1.2", "target.ratio=1"},
  {"TARGET-2X", "target.ratio=3.2", "target.ratio=2"},
  {"TARGET-PACE", "step.count=6 target.projected_ratio=1.1", "step.count=5"},
  {"ATT-PROC", "set.attn_processor=AttnProcessor2_0 model.arch[denoiser]=qwen_image model.family[denoiser]=mmdit", "model.arch[denoiser]=sdxl model.family[denoiser]=unet"},
  {"ATT-PROC-UNET", "set.attn_processor=AttnProcessor model.family[denoiser]=unet", "set.attn_processor=AttnProcessor2_0"},
  {"MODEL-EDIT", "model.edit=true set.reference_tokens=0", "set.reference_tokens=4096"},
  {"TARGET-RATE", "request.count=10 target.met_share=0.7", "target.met_share=0.8"},
  {"RUN-FAILED", "run.failed=1", "run.failed=0"},
  {"GPU-UNDERUSED", "gpu.util=0.6", "gpu.util=0.7"},
  {"MEM-UNUSED", "vram.headroom=0.6", "vram.headroom=0.5"},
  {"GPU-IDLE", "gpu.util=0.4", "gpu.util=0.5"},
  {"MEM-HIGH", "vram.used_share=0.91", "vram.used_share=0.9"},
  {"STAGE-TOP", "stage.top=vae_decode stage.top_share=0.4", "stage.top=denoise"},
  {"LAYER-TOP", "layer.top_share=0.4", "layer.top_share=0.3"},
  {"TEMP-HIGH", "gpu.temp_max=86", "gpu.temp_max=85"},
  {"STREAM-DROP", "stream.drop_share=0.06", "stream.drop_share=0.05"},
  {"STREAM-FPS", "stream.sent=30 block.fps=7.5", "block.fps=30"},
  {"BLOCK-LARGE", "stream.sent=30 block.frames_mean=12", "block.frames_mean=8"},
  {"FIRST-BLOCK", "block.first_ratio=4", "block.first_ratio=1.5"},
  {"STEP-MANY", "set.steps=31", "set.steps=30"},
  {"MULTI-GPU", "gpu.count=8 gpu.used=1", "gpu.used=8"},
};
// clang-format on

bool fired(const Advice& advice, const std::string& rule) {
  return std::any_of(advice.findings.begin(), advice.findings.end(),
                     [&](const Finding& found) { return found.rule.id == rule; });
}

bool knew(const Advice& advice, const std::string& rule) {
  return std::find(advice.silent.begin(), advice.silent.end(), rule) != advice.silent.end();
}

TEST(Rules, EachFiresAndNearlyDoes) {
  for (const Pair& pair : kPairs) {
    Facts facts = testing::facts(pair.fires);
    EXPECT_TRUE(fired(advise(facts), pair.rule)) << pair.rule << ": " << pair.fires;
    testing::set_facts(facts, pair.change);
    EXPECT_TRUE(knew(advise(facts), pair.rule)) << pair.rule << " after " << pair.change;
  }
}

TEST(Rules, NoneLacksAPairAndNoPairARule) {
  std::set<std::string> paired;
  for (const Pair& pair : kPairs) paired.insert(pair.rule);
  std::set<std::string> rules;
  for (const Rule& rule : built_in_rules()) rules.insert(rule.id);
  EXPECT_EQ(paired, rules);
  EXPECT_EQ(rules.size(), built_in_rules().size());
}

// 77 of the research note, 21 of documents 000 to 002, 1 of the default guidance.
TEST(Rules, AreAllThere) {
  const auto& rules = built_in_rules();
  const auto from_document = [](const Rule& rule) {
    return rule.citation.starts_with("document ");
  };
  EXPECT_EQ(std::count_if(rules.begin(), rules.end(), from_document), 21);
  EXPECT_EQ(rules.size(), 99u);
  for (const Rule& rule : rules) EXPECT_FALSE(rule.citation.empty()) << rule.id;
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
  for (const Pair& pair : kPairs) {
    Facts facts = testing::facts(pair.fires);
    testing::set_facts(facts, pair.change);
    const std::map<std::string, FactValue, std::less<>> all = facts.all();
    for (const auto& [name, value] : all) {
      // Asked for by has(): not knowing of a compiler or of a setting counts as not having it.
      if (name == "set.compile" || name == "env.miopen_find_mode" || name == "run.failed") continue;
      Facts fewer = facts;
      fewer.set_missing(name, "taken away");
      EXPECT_FALSE(fired(advise(fewer), pair.rule)) << pair.rule << " without " << name;
    }
  }
}

TEST(Rules, NothingIsAdvisedOnNothing) {
  const Advice advice = advise(Facts{});
  EXPECT_TRUE(advice.findings.empty());
  EXPECT_EQ(advice.abstained.size() + advice.silent.size(), built_in_rules().size());
  EXPECT_TRUE(advice.silent.empty()) << advice.silent[0] << " claims to know";
}

// Documents 001 and 002 turned a sensor that was absent into "utilisation is only 0.0 %".
TEST(Rules, NoAdviceFromAnAbsentSensor) {
  Facts facts = testing::facts("gpu.present=false step.count=20 step.med=400 step.first=1.1");
  for (const char* name : {"gpu.util", "gpu.temp_max", "vram.used_share", "vram.headroom"}) {
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

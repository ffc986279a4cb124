#include "faults.h"

#include <genscope/record.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "pipeline.h"

namespace tinydiff {
namespace {

using Clock = std::chrono::steady_clock;

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void repeat(int times, const Again& again) {
  for (int i = 0; i < times; ++i) again();
}

// Does the work of one joint `times` more.
template <Joint kJoint, int kTimes>
Spoil more() {
  return [](Joint joint, Index, const Again& again) {
    if (joint == kJoint) repeat(kTimes, again);
  };
}

Spoil slow_first_step() {
  return [](Joint joint, Index step, const Again& again) {
    if (joint == Joint::forward && step == 0) repeat(12, again);
  };
}

// The host waits in the scheduler for half as long as the step took until then.
Spoil sync_per_step() {
  return [began = Clock::now()](Joint joint, Index, const Again&) mutable {
    if (joint == Joint::step) began = Clock::now();
    if (joint == Joint::scheduler) std::this_thread::sleep_for((Clock::now() - began) / 2);
  };
}

Spoil slow_hook() {
  return [](Joint joint, Index, const Again&) {
    if (joint != Joint::step) return;
    GENSCOPE_SPAN("forward_hook");
    sleep_ms(20);
  };
}

Spoil rising_rss() {
  return [kept = std::vector<std::vector<char>>()](Joint joint, Index, const Again&) mutable {
    if (joint == Joint::step) kept.emplace_back(std::size_t{16} << 20, 'x');
  };
}

Spoil repeated_load() {
  return [](Joint joint, Index, const Again& again) {
    if (joint != Joint::load) return;
    const genscope::Load load{"load_model", {{"file", kWeightsName}}};
    again();
  };
}

Spoil repeated_encode() {
  return [](Joint joint, Index, const Again& again) {
    if (joint != Joint::text) return;
    for (int i = 0; i < 40; ++i) {
      const genscope::Stage stage{"text_encoding", {{"prompt", "the same again"}}};
      again();
    }
  };
}

// The weights of the second expert take the place of the first one's, and back.
Spoil expert_switch() {
  return [swap = Again(), steps = Index{0}](Joint joint, Index index, const Again& again) mutable {
    if (joint == Joint::load) swap = again;
    if (joint == Joint::step && (steps == 0 || steps == 6)) repeat(4, swap);
    if (joint == Joint::step) steps = index + 1;
  };
}

Spoil failure() {
  return [](Joint joint, Index step, const Again&) {
    if (joint == Joint::step && step == 2) throw std::runtime_error("the fault that was asked for");
  };
}

Spoil noisy_steps() {
  return [state = 1u](Joint joint, Index, const Again& again) mutable {
    if (joint != Joint::forward) return;
    state = state * 1664525u + 1013904223u;
    repeat(static_cast<int>(state >> 30), again);
  };
}

Spoil stream(int wait_ms, int dropped) {
  return [=](Joint joint, Index frames, const Again&) {
    if (joint != Joint::block) return;
    sleep_ms(wait_ms);
    genscope::event("streaming", {{"batch_size", frames}, {"encoding_time_ms", 1.0 * wait_ms}});
    if (dropped > 0) genscope::event("dropped_frames", {{"count", dropped}});
  };
}
Spoil dropped_frames() { return stream(1, 2); }
Spoil slow_stream() { return stream(600, 0); }

Spoil slow_first_block() {
  return [blocks = 0](Joint joint, Index, const Again& again) mutable {
    if (joint == Joint::block) blocks += 1;
    if (joint == Joint::forward && blocks == 0) repeat(12, again);
  };
}

// The first step at a new size has to tune itself for it, as a compiler does; the program says so.
Spoil two_sizes() {
  return [slow = slow_first_step(), told = false](Joint joint, Index index,
                                                  const Again& again) mutable {
    if (!told) genscope::event("config", {{"set.compile", "autotune"}});
    told = true;
    slow(joint, index, again);
  };
}

bool this_rank_is_slow() {
  const char* const rank = std::getenv("RANK");
  return rank != nullptr && std::string_view(rank) == "1";
}
Spoil slow_rank() {
  return [](Joint joint, Index, const Again& again) {
    if (joint == Joint::forward && this_rank_is_slow()) repeat(6, again);
  };
}
Spoil slow_input_rank() {
  return [](Joint joint, Index, const Again&) {
    if (joint == Joint::input) sleep_ms(this_rank_is_slow() ? 100 : 10);
  };
}

Spoil slow_input() {
  return [](Joint joint, Index, const Again&) {
    if (joint == Joint::input) sleep_ms(100);
  };
}

void quick(Options& o) {
  o.guidance = 1.0;
  o.width = o.height = 96;
}
void clean(Options& o) { o.steps = 24; }
void many_steps(Options& o) { o.steps = 100; }
void long_run(Options& o) { o.steps = 60; }
void distilled(Options& o) {
  o.steps = 24;
  o.distilled = true;
}
void served(Options& o) { o.requests = 2; }
void with_target(Options& o) {
  o.requests = 3;
  o.target_seconds = 0.001;
}
void benchmark(Options& o) { o.benchmark = true; }
void video(Options& o) {
  o.frames = 16;
  o.steps = 3;
}
void padded(Options& o) { o.padded_tokens = 512; }
void oversized(Options& o) {
  o.width = o.height = 352;
  o.steps = 3;
}
void resized(Options& o) { o.second_size = o.width + 32; }
void previewed(Options& o) { o.preview = true; }
void ranked(Options& o) { o.ranks = 3; }
void trained(Options& o) { o.epochs = 2; }
void trained_uncached(Options& o) {
  o.epochs = 2;
  o.encode_in_training = true;
}

}  // namespace

const std::vector<Fault>& faults() {
  static const std::vector<Fault> kFaults = {
      {"slow-first-step", "WARM-FIRST", "the first step tunes itself", nullptr, slow_first_step},
      {"two-sizes", "COMPILE-RECOMP", "a second picture of another size tunes itself again",
       resized, two_sizes},
      {"sync-per-step", "STEP-SCHED", "the host waits in every scheduler step", nullptr,
       sync_per_step},
      {"slow-hook", "HOST-HOOKS", "a hook takes its time in every step", nullptr, slow_hook},
      {"rising-rss", "MEM-LEAK-H", "every step keeps 16 MiB", long_run, rising_rss},
      {"slow-decode", "VAE-SHARE", "the decoder works 20 times as much", nullptr,
       more<Joint::decode, 20>},
      {"long-decode", "VAE-SHARE", "the decoder takes most of the run", nullptr,
       more<Joint::decode, 60>},
      {"doubled-forward", "CFG-2X", "the network runs twice a step", nullptr,
       more<Joint::forward, 1>},
      {"slow-load", "LOAD-SLOW", "weights are made 12 times over", nullptr, more<Joint::load, 12>},
      {"repeated-load", "LOAD-REPEAT", "the same weights are loaded twice", nullptr, repeated_load},
      {"repeated-encode", "TE-REPEAT", "one prompt is encoded 40 times", nullptr, repeated_encode},
      {"expert-switch", "OFFL-SWITCH", "two experts swap places in mid-generation",
       [](Options& o) { o.experts = 2; }, expert_switch},
      {"slow-save", "SAVE-SLOW", "every picture is written 3,000 times", nullptr,
       more<Joint::save, 3000>},
      {"preview", "PREVIEW", "every step decodes a preview", previewed, nullptr},
      {"many-steps", "STEP-MANY", "100 steps", many_steps, nullptr},
      {"distilled-steps", "STEP-DISTIL", "weights made for few steps run 24", distilled, nullptr},
      {"failure", "RUN-FAILED", "a request fails in its third step", served, failure},
      {"missed-target", "TARGET-2X", "requests with a target that none can meet", with_target,
       nullptr},
      {"noisy-steps", "BENCH-NOISE", "a benchmark whose steps vary", benchmark, noisy_steps},
      {"dropped-frames", "STREAM-DROP", "a stream loses a third of its frames", video,
       dropped_frames},
      {"slow-stream", "STREAM-FPS", "a stream below 10 frames a second", video, slow_stream},
      {"slow-first-block", "FIRST-BLOCK", "the first block of a video is late", video,
       slow_first_block},
      {"padded-text", "TXT-PAD", "a short prompt is padded to 512 tokens", padded,
       more<Joint::text, 15>},
      {"oversized", "RES-QUAD", "more than four times the size it was made for", oversized,
       nullptr},
      {"slow-rank", "RANK-SLOW", "of three ranks that meet each step, one is slow", ranked,
       slow_rank},
      {"slow-input-rank", "RANK-INPUT", "of three ranks, one waits for its input", ranked,
       slow_input_rank},
      {"slow-input", "IN-BOUND", "training waits for its data", trained, slow_input},
      {"encode-in-training", "TR-CACHE", "training encodes what it could have cached",
       trained_uncached, nullptr},
      {"none", "", "a small clean run, the measure of the others", clean, nullptr},
  };
  return kFaults;
}

const Fault* find_fault(std::string_view name) {
  for (const Fault& fault : faults()) {
    if (fault.name == name) return &fault;
  }
  return nullptr;
}

std::string fault_list() {
  std::string text;
  for (const Fault& fault : faults()) {
    char line[160];
    std::snprintf(line, sizeof line, "%-20s%-16s%s\n", fault.name.data(), fault.rule.data(),
                  fault.what.data());
    text += line;
  }
  return text;
}

void apply_fault(Options& options) {
  if (options.fault.empty()) return;
  quick(options);
  if (const Fault* const fault = find_fault(options.fault); fault->prepare != nullptr) {
    fault->prepare(options);
  }
}

Spoil make_spoil(const Options& options) {
  const Fault* const fault = options.fault.empty() ? nullptr : find_fault(options.fault);
  return fault != nullptr && fault->make != nullptr ? fault->make() : Spoil();
}

}  // namespace tinydiff

#include <algorithm>

#include "advise/facts/parts.h"

namespace genscope::advice {
namespace {

// A figure that the analysis has, or the reason why it has none.
template <class T>
void set_or_say(Facts& facts, const char* name, const std::optional<T>& value, const char* reason) {
  if (value) {
    facts.set(name, static_cast<double>(*value));
  } else {
    facts.set_missing(name, reason);
  }
}

void block_facts(const DiffusionSummary& diffusion, Facts& facts) {
  const bool any = diffusion.blocks > 0;
  const char* const none = "no block was marked";
  set_or_say(facts, "block.first_ratio", diffusion.first_block_ratio,
             any ? "fewer than two blocks" : none);
  const char* const silent = any ? "no block says how many frames it holds" : none;
  set_or_say(facts, "block.frames_mean", diffusion.frames_per_block, silent);
  set_or_say(facts, "block.fps", diffusion.frames_per_second, silent);
}

void stream_facts(const std::optional<StreamingSummary>& streaming, Facts& facts) {
  if (!streaming) {
    for (const char* name : {"stream.sent", "stream.drop_share"}) {
      facts.set_missing(name, "no event `streaming` was recorded");
    }
    return;
  }
  facts.set("stream.sent", static_cast<double>(streaming->frames_sent));
  set_or_say(facts, "stream.drop_share", streaming->drop_ratio, "no frame was sent or dropped");
}

void layer_facts(const std::vector<LayerRow>& layers, Facts& facts) {
  if (layers.empty()) {
    for (const char* name : {"layer.top", "layer.top_share"}) {
      facts.set_missing(name, "no layer was told: events `layer`, or spans with `parameters`");
    }
    return;
  }
  facts.set("layer.top", layers.front().name);
  facts.set("layer.top_share", layers.front().share);
}

// torch's profiler names the steps of optimizers "Optimizer.step#AdamW.step".
bool has_optimizer_steps(const Run& run) {
  const auto is_step = [](const Name& name) { return name.text.starts_with("Optimizer.step#"); };
  return std::any_of(run.traces.begin(), run.traces.end(), [&](const Trace& trace) {
    return std::any_of(trace.names.begin(), trace.names.end(), is_step);
  });
}

void training_facts(const Run& run, const TrainingSummary& training, Facts& facts) {
  const bool any = training.batches.count > 0;
  const char* const none = "no batch was marked";
  set_or_say(facts, "input.wait_share", training.input_wait_share,
             any ? "no span of the loop is named as a wait for input" : none);
  set_or_say(facts, "train.encode_share", training.encode_share,
             any ? "no encoder was marked inside a batch" : none);
  if (!training.epochs.empty() || training.batches.first_loss || has_optimizer_steps(run)) {
    facts.set("set.training", true);
  }
}

void request_facts(const RequestSummary& requests, Facts& facts) {
  if (requests.count == 0) {
    for (const char* name : {"run.failed", "request.count"}) {
      facts.set_missing(name, "no request or session was marked, or none has ended");
    }
  } else {
    facts.set("request.count", static_cast<double>(requests.count));
    facts.set("run.failed", static_cast<double>(requests.failed));
  }
  set_or_say(facts, "set.images", requests.images,
             "no request was marked, and the program does not say");
}

}  // namespace

void generation_facts(const Run& run, const Analysis& analysis, Facts& facts) {
  block_facts(analysis.diffusion, facts);
  stream_facts(analysis.streaming, facts);
  layer_facts(analysis.layers, facts);
  training_facts(run, analysis.training, facts);
  request_facts(analysis.requests, facts);
}

}  // namespace genscope::advice

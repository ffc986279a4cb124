#include "report/json_sections.h"

#include <nlohmann/json.hpp>
#include <string>

#include "report/json_values.h"

namespace genscope::report {
namespace {

// An object of the report, whose nulls have reasons.
class Object {
 public:
  Object(std::string where, Json& absent) : where_(std::move(where)), absent_(absent) {}

  template <class T>
  Object& set(const char* key, const T& value) {
    json_[key] = value;
    return *this;
  }
  template <class T>
  Object& set(const char* key, const std::optional<T>& value, const char* reason) {
    return set_if(value.has_value(), key, value.value_or(T()), reason);
  }
  template <class T>
  Object& set_if(bool known, const char* key, const T& value, const char* reason) {
    json_[key] = known ? Json(value) : Json(nullptr);
    if (!known) absent_[where_ + "." + key] = reason;
    return *this;
  }
  Json take() { return std::move(json_); }

 private:
  std::string where_;
  Json& absent_;
  Json json_ = Json::object();
};

Json missing(const char* key, const char* reason, Json& absent) {
  absent[key] = reason;
  return nullptr;
}

Json trend_json(const std::optional<Slope>& trend, Json& absent) {
  if (!trend) return missing("steps.trend", "needs five steady steps of some length", absent);
  return {{"percent_per_100_steps", trend->value},
          {"low", trend->low},
          {"high", trend->high},
          {"flat", trend->flat()}};
}

Json outliers_json(const StepSummary& s, Json& absent) {
  if (s.steady_count == 0) return missing("steps.outliers", "no step is steady", absent);
  Json out = Json::array();
  for (const StepOutlier& o : s.outliers) {
    out.push_back({{"index", o.index}, {"duration_ns", o.duration_ns}, {"ratio", o.ratio}});
  }
  return out;
}

Json diffusion_json(const DiffusionSummary& d, Json& absent) {
  if (d.blocks == 0 && !d.steps_per_second && !d.timestep_first && !d.guidance_min) {
    return missing("diffusion", "neither blocks nor steps were recorded", absent);
  }
  const char* const no_block = "no block finished well";
  const char* const no_frames = "no block says how many frames it holds";
  const char* const unsaid = "the program does not say";
  Object out("diffusion", absent);
  out.set("blocks", d.blocks)
      .set("blocks_with_frames", d.blocks_with_frames)
      .set("frames", d.frames, no_frames)
      .set("frames_per_second", d.frames_per_second, no_frames)
      .set("frames_per_block", d.frames_per_block, no_frames)
      .set("blocks_per_second", d.blocks_per_second, no_block)
      .set("steps_per_second", d.steps_per_second, "no step of some length finished")
      .set("block_p50_ns", d.block_p50_ns, no_block)
      .set("block_max_ns", d.block_max_ns, no_block)
      .set("first_block_ns", d.first_block_ns, no_block)
      .set("first_block_ratio", d.first_block_ratio, "needs two blocks of some length")
      .set("timestep_first", d.timestep_first, unsaid)
      .set("timestep_last", d.timestep_last, unsaid)
      .set("guidance_min", d.guidance_min, unsaid)
      .set("guidance_max", d.guidance_max, unsaid)
      .set("block_memory_peak_bytes", d.block_memory_peak_bytes, unsaid);
  return out.take();
}

Json batches_json(const BatchFigures& b) {
  return {{"count", b.count},
          {"failed", b.failed},
          {"total_ns", b.total_ns},
          {"min_ns", or_null(b.min_ns)},
          {"p50_ns", or_null(b.p50_ns)},
          {"max_ns", or_null(b.max_ns)},
          {"mean_ns", or_null(b.mean_ns)},
          {"first_loss", or_null(b.first_loss)},
          {"last_loss", or_null(b.last_loss)},
          {"min_loss", or_null(b.min_loss)}};
}

Json training_json(const TrainingSummary& t, Json& absent) {
  if (t.batches.count == 0 && t.epochs.empty()) {
    return missing("training", "neither batches nor epochs were recorded", absent);
  }
  Json epochs = Json::array();
  for (const EpochRow& e : t.epochs) {
    epochs.push_back({{"index", e.index},
                      {"duration_ns", e.duration_ns},
                      {"failed", e.failed},
                      {"unfinished", e.unfinished},
                      {"batches", batches_json(e.batches)}});
  }
  if (!t.batches.mean_ns) absent["training.batches.min_ns"] = "no batch finished well";
  if (!t.batches.first_loss) {
    absent["training.batches.first_loss"] = "neither argument nor counter \"loss\" was recorded";
  }
  Object out("training", absent);
  out.set("batches", batches_json(t.batches))
      .set("epochs", epochs)
      .set("variance_ratio", t.variance_ratio, "needs three batches of some length")
      .set_if(t.variance_ratio.has_value(), "high_variance", t.high_variance,
              "needs three batches of some length")
      .set("input_wait_share", t.input_wait_share, "no span is named as a wait for input")
      .set("encode_share", t.encode_share, "no encoder was marked inside a batch");
  return out.take();
}

Json requests_json(const RequestSummary& r, Json& absent) {
  if (r.count == 0) {
    return missing("requests", "no request or session was recorded, or none has ended", absent);
  }
  const char* const none = "none went well";
  const char* const no_target = "the program names no target_seconds, or none went well";
  Object out("requests", absent);
  out.set("what", r.sessions ? "session" : "request")
      .set("count", r.count)
      .set("failed", r.failed)
      .set("success_ratio", *r.success_ratio)
      .set("images", r.images, "the program does not say")
      .set("p50_ns", r.p50_ns, none)
      .set("p95_ns", r.p95_ns, none)
      .set("max_ns", r.max_ns, none)
      .set("target_ratio", r.target_ratio, no_target)
      .set("target_met_share", r.target_met_share, no_target);
  return out.take();
}

Json multimodal_json(const MultimodalSummary& m, Json& absent) {
  if (m.text_calls + m.image_calls == 0) {
    return missing("multimodal", "no stage is named as text or image processing", absent);
  }
  const char* const no_text = "no call had text";
  const char* const no_image = "no call had an image";
  Object out("multimodal", absent);
  out.set("text_calls", m.text_calls)
      .set("image_calls", m.image_calls)
      .set("text_ms_mean", m.text_ms_mean, no_text)
      .set("image_ms_mean", m.image_ms_mean, no_image)
      .set("text_share", m.text_share, no_text)
      .set("image_share", m.image_share, no_image);
  return out.take();
}

Json bottlenecks_json(const std::vector<Bottleneck>& all) {
  Json out = Json::array();
  for (const Bottleneck& b : all) {
    out.push_back({{"name", b.name},
                   {"kind", name(b.kind)},
                   {"self_share", b.self_share},
                   {"threshold", b.threshold}});
  }
  return out;
}

Json streaming_json(const std::optional<StreamingSummary>& s, Json& absent) {
  if (!s) return missing("streaming", "no event `streaming` was recorded", absent);
  const char* const unsaid = "no event says it";
  Object out("streaming", absent);
  out.set("events", s->events)
      .set("frames_sent", s->frames_sent)
      .set("frames_dropped", s->frames_dropped)
      .set("drop_ratio", s->drop_ratio, "no frame was sent or dropped")
      .set("frames_per_second", s->frames_per_second, "needs two events at different times")
      .set("encode_ms_mean", s->encode_ms_mean, unsaid)
      .set("encode_ms_max", s->encode_ms_max, unsaid)
      .set("latency_ms_mean", s->latency_ms_mean, unsaid)
      .set("latency_ms_max", s->latency_ms_max, unsaid)
      .set("buffer_mean", s->buffer_mean, unsaid)
      .set("buffer_max", s->buffer_max, unsaid);
  return out.take();
}

Json layers_json(const std::vector<LayerRow>& all) {
  Json out = Json::array();
  for (const LayerRow& l : all) {
    out.push_back({{"name", l.name},
                   {"count", l.count},
                   {"total_ns", l.total_ns},
                   {"mean_ns", l.mean_ns},
                   {"max_ns", l.max_ns},
                   {"share", l.share},
                   {"parameters", or_null(l.parameters)}});
    if (l.folded > 0) out.back()["folded"] = l.folded;
  }
  return out;
}

Json cache_json(const std::optional<CacheSummary>& c, Json& absent) {
  if (!c) return missing("cache", "no event `cache` was recorded", absent);
  Object out("cache", absent);
  out.set("hits", c->hits)
      .set("misses", c->misses)
      .set("evictions", c->evictions)
      .set("hit_ratio", c->hit_ratio, "neither hits nor misses were recorded")
      .set("size_last_bytes", c->size_last_bytes, "no event says it")
      .set("evicted_bytes", c->evicted_bytes, "no event says it");
  return out.take();
}

Json memory_json(const std::optional<MemoryEvents>& m, Json& absent) {
  if (!m) return missing("memory_events", "no event `memory` was recorded", absent);
  Object out("memory_events", absent);
  out.set("allocations", m->allocations)
      .set("frees", m->frees)
      .set("allocated_bytes", m->allocated_bytes)
      .set("freed_bytes", m->freed_bytes)
      .set("small_share", m->small_share, "no allocation says its size");
  return out.take();
}

Json models_json(const std::vector<ModelRow>& all) {
  Json out = Json::array();
  for (const ModelRow& m : all) {
    out.push_back({{"name", m.name},
                   {"type", m.type.empty() ? Json(nullptr) : Json(m.type)},
                   {"parameters", m.parameters}});
  }
  return out;
}

Json stage_tree_json(const StageTree& tree) {
  Json nodes = Json::array();
  for (const StageNode& node : tree.nodes) {
    nodes.push_back({{"name", node.name},
                     {"kind", name(node.kind)},
                     {"parent", node.parent == kNone ? Json(nullptr) : Json(node.parent)},
                     {"count", node.count},
                     {"total_ns", node.total_ns},
                     {"self_ns", node.self_ns},
                     {"steps", node.steps}});
  }
  return {{"processes", tree.processes},
          {"wall_ns", tree.wall_ns},
          {"outside_ns", tree.outside_ns},
          {"nodes", std::move(nodes)}};
}

Json stage_groups_json(const std::vector<StageGroup>& groups) {
  Json out = Json::array();
  for (const StageGroup& group : groups) {
    out.push_back({{"name", group.name},
                   {"count", group.count},
                   {"exclusive_ns", group.exclusive_ns},
                   {"exclusive_share", group.exclusive_share},
                   {"first_ratio", or_null(group.first_ratio)}});
  }
  return out;
}

Json loads_json(const LoadSummary& loads, Json& absent) {
  if (!loads.bytes_per_second && !loads.repeats && !loads.prompt_repeats) {
    return missing("loads", "no load says its file or bytes, no text encoding its prompt", absent);
  }
  Object out("loads", absent);
  out.set("bytes_per_second", loads.bytes_per_second, "no load says its bytes")
      .set("repeats", loads.repeats, "no load says its file")
      .set("prompt_repeats", loads.prompt_repeats, "no text encoding says its prompt");
  return out.take();
}

Json ranks_json(const RankSummary& ranks, Json& absent) {
  if (ranks.count < 2) return missing("ranks", "fewer than two processes say their rank", absent);
  const char* const no_wait = "fewer than two ranks marked collectives";
  const char* const no_input = "fewer than two ranks marked their wait for input";
  const char* const no_step = "fewer than two ranks have steady steps";
  Object out("ranks", absent);
  out.set("count", ranks.count)
      .set("wait_p50_share", ranks.wait_p50_share, no_wait)
      .set("wait_min_share", ranks.wait_min_share, no_wait)
      .set("straggler", ranks.straggler, no_wait)
      .set("input_wait_ratio", ranks.input_wait_ratio, no_input)
      .set("input_slowest", ranks.input_slowest, no_input)
      .set("step_ratio", ranks.step_ratio, no_step)
      .set("step_slowest", ranks.step_slowest, no_step);
  return out.take();
}

}  // namespace

Json steps_json(const StepSummary& s, Json& absent) {
  const bool any = s.count > 0;
  const char* const none = "no span of kind step finished";
  const char* const few = "needs two steps of some length";
  const char* const not_steady = "no step is steady";
  const char* const no_device = "no step has device time";
  const char* const few_steady = "needs three steady steps of some length";
  const char* const no_shape = "no forward says its shape, or too few steps are steady";
  Object out("steps", absent);
  out.set("count", s.count)
      .set_if(any, "first_ns", s.first_ns, none)
      .set_if(any, "p50_ns", s.p50_ns, none)
      .set_if(any, "p95_ns", s.p95_ns, none)
      .set_if(any, "max_ns", s.max_ns, none)
      .set_if(s.count > 1, "rest_p50_ns", s.rest_p50_ns, few)
      .set_if(s.first_ratio > 0, "first_ratio", s.first_ratio, few)
      .set("device_count", s.device_count)
      .set("device_p50_ns", s.device_p50_ns, no_device)
      .set("device_p95_ns", s.device_p95_ns, no_device)
      .set("device_max_ns", s.device_max_ns, no_device)
      .set("warmup_count", s.warmup_count)
      .set("warmup_ns", s.warmup_ns)
      .set("steady_count", s.steady_count)
      .set("steady_min_ns", s.steady_min_ns, not_steady)
      .set("steady_p50_ns", s.steady_p50_ns, not_steady)
      .set("steady_p95_ns", s.steady_p95_ns, not_steady)
      .set("steady_max_ns", s.steady_max_ns, not_steady)
      .set("steady_cv", s.steady_cv, "needs three steady steps of some length")
      .set("trend", trend_json(s.trend_percent_per_100, absent))
      .set("variance_ratio", s.variance_ratio, "needs two steady steps of some length")
      .set_if(s.variance_ratio.has_value(), "high_variance", s.high_variance,
              "needs two steady steps of some length")
      .set_if(s.steady_count > 0, "outlier_count", s.outlier_count, not_steady)
      .set("outliers", outliers_json(s, absent))
      .set("second_ratio", s.second_ratio, few_steady)
      .set("jump_ratio", s.jump_ratio, few_steady)
      .set("slow_count", s.slow_count, few_steady)
      .set_if(s.slow_count.has_value(), "slow_first", s.slow_first, few_steady)
      .set("slow_inner_count", s.slow_inner_count, few_steady)
      .set("slow_every", s.slow_every, "there are fewer than four, or they do not come regularly")
      .set("short_count", s.short_count, few_steady)
      .set("scheduler_share", s.scheduler_share, "no span in a step is named as a scheduler")
      .set("hook_share", s.hook_share, "no span in a step is named as a hook")
      .set("shape_changes", s.shape_changes, no_shape)
      .set("slow_at_shape_count", s.slow_at_shape_count, no_shape);
  return out.take();
}

void add_generation_json(const Analysis& analysis, Json& report, Json& absent) {
  report["stage_groups"] = stage_groups_json(analysis.stage_groups);
  report["stage_tree"] = stage_tree_json(analysis.stage_tree);
  report["loads"] = loads_json(analysis.loads, absent);
  report["ranks"] = ranks_json(analysis.ranks, absent);
  report["diffusion"] = diffusion_json(analysis.diffusion, absent);
  report["training"] = training_json(analysis.training, absent);
  report["requests"] = requests_json(analysis.requests, absent);
  report["multimodal"] = multimodal_json(analysis.multimodal, absent);
  report["bottlenecks"] = bottlenecks_json(analysis.bottlenecks);
  report["streaming"] = streaming_json(analysis.streaming, absent);
  report["layers"] = layers_json(analysis.layers);
  report["cache"] = cache_json(analysis.cache, absent);
  report["memory_events"] = memory_json(analysis.memory_events, absent);
  report["models"] = models_json(analysis.models);
}

}  // namespace genscope::report

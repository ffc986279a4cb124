#include <nlohmann/json.hpp>

#include <genscope/predict.h>
#include <genscope/version.h>

namespace genscope {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json hardware_object(const Hardware& h) {
  return {{"name", h.name},
          {"bf16_tflops", h.bf16_tflops},
          {"fp8_tflops", or_null(h.fp8_tflops)},
          {"fp16_tflops", or_null(h.fp16_tflops)},
          {"bandwidth_gbs", h.bandwidth_gbs},
          {"memory_gib", h.memory_gib > 0 ? Json(h.memory_gib) : Json()},
          {"watts", or_null(h.watts)},
          {"link_gbs", h.link_gbs > 0 ? Json(h.link_gbs) : Json()},
          {"int8_tops", or_null(h.int8_tops)},
          {"four_bit_tflops", or_null(h.four_bit_tflops)},
          {"measured", h.measured},
          {"source", h.source}};
}

Json model_object(const CostSpec& spec) {
  return {{"name", spec.profile},
          {"title", spec.title},
          {"architecture", spec.architecture},
          {"parameters", spec.parameters},
          {"other_bytes", spec.other_bytes},
          {"origin", spec.origin}};
}

Json workload_object(const Workload& w) {
  return {{"width", w.width},
          {"height", w.height},
          {"frames", w.frames},
          {"steps", w.steps},
          {"batch", w.batch},
          {"text_tokens", or_null(w.text_tokens)},
          {"guidance_passes", or_null(w.guidance_passes)},
          {"dtype", w.dtype ? Json(name(*w.dtype)) : Json()},
          {"offload", name(w.offload)},
          {"arithmetic", w.arithmetic ? Json(name(*w.arithmetic)) : Json()},
          {"devices", w.devices}};
}

Json work_object(const Prediction& p) {
  return {{"image_tokens", p.image_tokens},
          {"text_tokens", p.text_tokens},
          {"latent_frames", p.latent_frames},
          {"forward_flops", p.forward_flops},
          {"attention_flops", p.attention_flops},
          {"attention_ratio", p.attention_share},
          {"step_flops", p.step_flops},
          {"decode_flops", p.decode_flops > 0 ? Json(p.decode_flops) : Json()},
          {"total_flops", p.total_flops}};
}

Json time_object(const Prediction& p) {
  return {{"step_seconds", p.step_seconds},       {"bound", p.bound},
          {"compute_seconds", p.compute_seconds}, {"memory_seconds", p.memory_seconds},
          {"link_seconds", p.link_seconds},       {"decode_seconds", p.decode_seconds},
          {"load_seconds", p.load_seconds},       {"total_seconds", p.total_seconds},
          {"arithmetic", name(p.arithmetic)},     {"peak_tflops", p.peak_tflops}};
}

Json expected_object(const Prediction& p) {
  if (!p.expected) return {};
  const Expected& e = *p.expected;
  return {{"step_seconds", {e.step_low, e.step_high}},
          {"total_seconds", {e.total_low, e.total_high}},
          {"published_mfu_ratio", {e.mfu_low, e.mfu_high}},
          {"source", e.source}};
}

Json devices_object(const Prediction& p) {
  return {{"guidance", p.guidance_devices},
          {"tokens", p.token_devices},
          {"exchange_bytes", p.exchange_bytes}};
}

Json memory_object(const Prediction& p) {
  return {{"peak_bytes", p.peak_bytes},
          {"fits", or_null(p.fits)},
          {"weight_bytes", p.weight_bytes},
          {"denoiser_bytes", p.denoiser_bytes},
          {"expert_bytes", p.expert_bytes},
          {"activation_bytes", p.activation_bytes},
          {"math_attention_bytes", p.math_attention_bytes},
          {"vae_peak_bytes", p.vae_peak_bytes > 0 ? Json(p.vae_peak_bytes) : Json()},
          {"remedies", p.remedies}};
}

Json measured_object(const Prediction& p, std::optional<double> step_seconds) {
  if (!step_seconds) return {};
  const Mfu mfu = judge(p, *step_seconds);
  return {{"step_seconds", *step_seconds},
          {"mfu_ratio", mfu.ratio},
          {"band", mfu.band},
          {"note", mfu.note}};
}

Json document() { return {{"schema", "genscope.predict/1"}, {"version", GENSCOPE_VERSION_STRING}}; }

// Paths and names of files are as bytes; what is not UTF-8 is replaced.
std::string written(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const Prediction& p, std::optional<double> measured_step_seconds) {
  Json json = document();
  json["model"] = model_object(p.spec);
  json["workload"] = workload_object(p.workload);
  json["hardware"] = hardware_object(p.hardware);
  json["work"] = work_object(p);
  json["floor"] = time_object(p);
  json["expected"] = expected_object(p);
  json["devices"] = devices_object(p);
  json["joules"] = or_null(p.joules);
  json["memory"] = memory_object(p);
  json["measured"] = measured_object(p, measured_step_seconds);
  json["sources"] = p.sources;
  json["not_modelled"] = p.not_modelled;
  return written(json);
}

std::string to_json(const std::vector<Hardware>& table) {
  Json json = document();
  json["hardware"] = Json::array();
  for (const Hardware& row : table) json["hardware"].push_back(hardware_object(row));
  return written(json);
}

std::string to_json(const std::vector<Prediction>& models) {
  Json json = document();
  json["models"] = Json::array();
  for (const Prediction& p : models) {
    Json row = model_object(p.spec);
    row["defaults"] = workload_object(p.workload);
    row["step_flops"] = p.step_flops;
    json["models"].push_back(std::move(row));
  }
  return written(json);
}

}  // namespace genscope

#include <algorithm>

#include <nlohmann/json.hpp>

#include <genscope/inspect.h>
#include <genscope/version.h>

namespace genscope {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }

Json dimensions_json(const Dimensions& d) {
  Json out = Json::object();
  const auto put = [&](const char* key, std::uint64_t value) {
    if (value != 0) out[key] = value;
  };
  put("width", d.width);
  put("layers", d.layers);
  put("single_layers", d.single_layers);
  put("refiner_layers", d.refiner_layers);
  put("attention2_layers", d.attention2_layers);
  put("heads", d.heads);
  put("ffn_width", d.ffn_width);
  put("kv_width", d.kv_width);
  put("in_channels", d.in_channels);
  put("out_channels", d.out_channels);
  put("patch", d.patch);
  put("text_width", d.text_width);
  put("pooled_width", d.pooled_width);
  put("image_width", d.image_width);
  out["guidance_embedding"] = d.guidance_embedding;
  return out;
}

Json identity_json(const Identity& identity) {
  return {{"architecture", text_or_null(identity.architecture)},
          {"variant", text_or_null(identity.variant)},
          {"title", text_or_null(identity.title)},
          {"family", name(identity.family)},
          {"confidence", name(identity.confidence)},
          {"naming", text_or_null(identity.naming)},
          {"dimensions", dimensions_json(identity.dimensions)},
          {"evidence", identity.evidence}};
}

Json lora_json(const Lora& lora) {
  return {{"kind", lora.kind},
          {"ranks", lora.ranks},
          {"modules", lora.modules},
          {"target", text_or_null(lora.target)},
          {"text_encoder", lora.text_encoder}};
}

Json component_json(const Component& component) {
  Json dtypes = Json::array();
  for (const DtypeShare& share : component.dtypes) {
    dtypes.push_back({{"dtype", name(share.dtype)},
                      {"tensors", share.tensors},
                      {"parameters", share.parameters},
                      {"bytes", share.bytes}});
  }
  return {{"name", component.name},
          {"class", text_or_null(component.class_name)},
          {"identity", identity_json(component.identity)},
          {"tensors", component.tensors},
          {"parameters", component.parameters},
          {"elements", component.elements},
          {"bytes", component.bytes},
          {"dtypes", std::move(dtypes)},
          {"quantisation", text_or_null(component.quantisation)},
          {"lora", component.lora ? lora_json(*component.lora) : Json()},
          {"files", component.files}};
}

Json tensors_json(const std::vector<TensorFile>& files) {
  Json out = Json::array();
  for (const TensorFile& file : files) {
    for (const Tensor& tensor : file.tensors) {
      const auto sizes = tensor.shape.span();
      out.push_back({{"file", file.path},
                     {"name", tensor.name},
                     {"dtype", name(tensor.dtype)},
                     {"shape", std::vector<std::uint64_t>(sizes.begin(), sizes.end())},
                     {"bytes", tensor.bytes}});
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> ordered_notes(const Model& model) {
  std::vector<std::string> notes = model.notes;
  std::stable_partition(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("safety: ") != std::string::npos;
  });
  return notes;
}

std::string to_json(const Model& model, const std::vector<TensorFile>& files) {
  Json document = {{"schema", "genscope.model/1"},
                   {"version", GENSCOPE_VERSION_STRING},
                   {"path", model.path},
                   {"container", name(model.container)},
                   {"pipeline_class", text_or_null(model.pipeline_class)},
                   {"identity", identity_json(model.identity)},
                   {"parameters", model.parameters},
                   {"bytes", model.bytes},
                   {"notes", ordered_notes(model)}};
  document["components"] = Json::array();
  for (const Component& component : model.components) {
    document["components"].push_back(component_json(component));
  }
  document["metadata"] = Json::object();
  for (const auto& [key, value] : model.metadata) document["metadata"][key] = value;
  if (!files.empty()) document["tensors"] = tensors_json(files);
  // Names come from files: bytes that are not UTF-8 become U+FFFD.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace genscope

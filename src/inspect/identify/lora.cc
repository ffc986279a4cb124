#include "inspect/identify/lora.h"

#include <fmt/format.h>

#include <algorithm>

namespace genscope::inspect {
namespace {

// Ends of names. `rank_axis`: of the tensor that tells the rank of its module; each module has one.
struct End {
  std::string_view text;
  std::string_view kind;
  int rank_axis = -1;
};
constexpr End kEnds[] = {
    {".lora_A.weight", "lora", 0},
    {".lora_down.weight", "lora", 0},
    {".lora.down.weight", "lora", 0},
    {"_lora.down.weight", "lora", 0},
    {".lora_A.default.weight", "lora", 0},
    {".lora_linear_layer.down.weight", "lora", 0},
    {".lora_B.weight", "lora"},
    {".lora_up.weight", "lora"},
    {".lora.up.weight", "lora"},
    {"_lora.up.weight", "lora"},
    {".lora_B.default.weight", "lora"},
    {".lora_linear_layer.up.weight", "lora"},
    {".lora_mid.weight", "lora"},
    {".alpha", ""},
    {".hada_w1_b", "loha", 0},
    {".hada_w1_a", "loha"},
    {".hada_w2_a", "loha"},
    {".hada_w2_b", "loha"},
    {".hada_t1", "loha"},
    {".hada_t2", "loha"},
    {".lokr_w1", "lokr"},
    {".lokr_w1_a", "lokr"},
    {".lokr_w1_b", "lokr"},
    {".lokr_w2", "lokr"},
    {".lokr_w2_a", "lokr"},
    {".lokr_w2_b", "lokr", 0},
    {".lokr_t2", "lokr"},
    {".dora_scale", "dora"},
    {".lora_magnitude_vector.weight", "dora"},
    {".lora_magnitude_vector", "dora"},
    {".diff", "diff"},
    {".diff_b", "diff"},
    {".w_norm", "diff"},
    {".b_norm", "diff"},
    {".on_input", ""},
};

const End* end_of(std::string_view name) {
  for (const End& end : kEnds) {
    if (name.ends_with(end.text)) return &end;
  }
  return nullptr;
}

// What the adapted layers are called tells the base model. Rows in order; a width of 0 is any, else
// the input width of a layer whose name has `word` in it.
struct Target {
  std::string_view word;
  std::string_view architecture;
  std::uint64_t width = 0;
};
constexpr Target kTargets[] = {
    {"img_mod.1", "qwen_image"},
    {"img_mod_1", "qwen_image"},
    {"txt_mlp", "qwen_image"},
    {"img_mlp.net", "qwen_image"},
    {"distilled_guidance_layer", "chroma"},
    {"single_stream_modulation", "flux2"},
    {"to_qkv_mlp_proj", "flux2"},
    {"joint_transformer_blocks", "auraflow"},
    {"individual_token_refiner", "hunyuan_video"},
    {"double_stream_blocks", "hidream"},
    {"joint_blocks", "sd3"},
    {"context_embedder.token_refiner", "hunyuan_video"},
    {"double_blocks", "flux"},
    {"single_transformer_blocks", "flux"},
    {"self_attn", "wan", 5120},
    {"self_attn", "wan", 3072},
    {"self_attn", "wan", 1536},
    {"blocks.0.attn1", "wan", 5120},
    {"input_blocks", "unet"},
    {"down_blocks", "unet"},
    {"mid_block", "unet"},
    {"up_blocks", "unet"},
    {"attn.add_q_proj", "sd3", 1536},
    {"attn.add_q_proj", "sd3", 2432},
    {"attn.add_k_proj", "qwen_image", 3072},
    {"transformer_blocks.0.attn1", "ltx", 2048},
    {"transformer_blocks.0.attn1", "ltx", 4096},
    {"transformer_blocks.0.attn1", "pixart", 1152},
    {"transformer_blocks.0.attn1", "cogvideox", 1920},
    {"transformer_blocks.0.attn1", "cogvideox", 3072},
    {"layers.0.attention", "z_image", 3840},
    {"layers_0_attention", "z_image", 3840},
    {"layers.0.attention", "lumina2", 2304},
    {"layers.0.attn", "lumina2", 2304},
};

// What trainers write into the metadata.
struct Base {
  std::string_view word;
  std::string_view architecture;
};
constexpr Base kBases[] = {
    {"flux2", "flux2"},
    {"flux.2", "flux2"},
    {"flux", "flux"},
    {"sdxl", "sdxl"},
    {"stable-diffusion-xl", "sdxl"},
    {"sd3", "sd3"},
    {"stable-diffusion-v3", "sd3"},
    {"stable-diffusion-3", "sd3"},
    {"qwen", "qwen_image"},
    {"wan", "wan"},
    {"hunyuan", "hunyuan_video"},
    {"zimage", "z_image"},
    {"z-image", "z_image"},
    {"z_image", "z_image"},
    {"lumina", "lumina2"},
    {"ltx", "ltx"},
    {"chroma", "chroma"},
    {"hidream", "hidream"},
    {"auraflow", "auraflow"},
    {"sd_v2", "sd2"},
    {"stable-diffusion-v2", "sd2"},
    {"sd_v1", "sd1"},
    {"stable-diffusion-v1", "sd1"},
};

bool is_text_encoder(std::string_view name) {
  return name.starts_with("lora_te") || name.starts_with("text_encoder") ||
         name.starts_with("lora_text") || name.starts_with("te.");
}

class LoraSearch {
 public:
  explicit LoraSearch(const TensorFile& file) : file_(file) {}

  std::optional<LoraFinding> run() {
    if (!looks_like_one()) return std::nullopt;
    std::uint64_t adapted = 0;
    for (const Tensor& tensor : file_.tensors) {
      const End* end = end_of(tensor.name);
      if (end == nullptr) continue;
      ++adapted;
      take(tensor, *end);
    }
    if (adapted == 0 || adapted * 2 < file_.tensors.size()) return std::nullopt;
    Lora& lora = out_.lora;
    std::sort(lora.ranks.begin(), lora.ranks.end());
    lora.ranks.erase(std::unique(lora.ranks.begin(), lora.ranks.end()), lora.ranks.end());
    if (lora.modules == 0) lora.modules = kinds_;  // diff and full lokr have no rank
    name_target();
    if (lora.target.empty()) out_.confidence = Confidence::medium;
    return std::move(out_);
  }

 private:
  // A sample: in a whole model, not one name in a hundred ends like an adapter's.
  bool looks_like_one() const {
    constexpr std::size_t kSample = 64;
    const std::size_t step = file_.tensors.size() / kSample + 1;
    std::size_t looked = 0;
    std::size_t adapted = 0;
    for (std::size_t id = 0; id < file_.tensors.size(); id += step, ++looked) {
      if (end_of(file_.tensors[id].name) != nullptr) ++adapted;
    }
    return adapted * 4 > looked;
  }

  void take(const Tensor& tensor, const End& end) {
    Lora& lora = out_.lora;
    if (!end.kind.empty() && rank_of_kind(end.kind) > rank_of_kind(lora.kind)) {
      lora.kind = end.kind;
      out_.evidence.push_back(std::string(tensor.name));
    }
    lora.text_encoder = lora.text_encoder || is_text_encoder(tensor.name);
    if (!end.kind.empty()) ++kinds_;
    if (end.kind == "diff" || end.kind == "lokr") downs_.push_back(&tensor);
    if (end.rank_axis < 0 || tensor.shape.rank == 0) return;
    ++lora.modules;
    const std::uint64_t rank = tensor.shape[static_cast<std::size_t>(end.rank_axis)];
    lora.ranks.push_back(rank);
    downs_.push_back(&tensor);
  }

  // A file with more than one kind of tensor is called after the more special one.
  static int rank_of_kind(std::string_view kind) {
    if (kind == "dora") return 5;
    if (kind == "loha" || kind == "lokr") return 4;
    if (kind == "lora") return 3;
    return kind == "diff" ? 1 : 0;
  }

  void name_target() {
    for (const char* const key : {"ss_base_model_version", "modelspec.architecture"}) {
      std::string value(file_.meta(key));
      std::transform(value.begin(), value.end(), value.begin(),
                     [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
      for (const Base& base : kBases) {
        if (value.find(base.word) == std::string::npos) continue;
        accept(base.architecture, fmt::format("{} = {}", key, file_.meta(key)));
        return;
      }
    }
    for (const Target& target : kTargets) {
      const Tensor* tensor = layer_with(target);
      if (tensor == nullptr) continue;
      accept(target.architecture == "unet" ? unet() : target.architecture,
             std::string(tensor->name));
      return;
    }
  }

  void accept(std::string_view architecture, std::string evidence) {
    if (architecture == "flux" && blocks("single_blocks") > 38) architecture = "hunyuan_video";
    out_.lora.target = architecture;
    out_.evidence.push_back(std::move(evidence));
  }

  const Tensor* layer_with(const Target& target) const {
    for (const Tensor* down : downs_) {
      if (down->name.find(target.word) == std::string_view::npos) continue;
      if (target.width == 0) return down;
      if (down->shape.rank >= 2 && down->shape[1] == target.width) return down;
    }
    return nullptr;
  }

  // Generations of UNets differ in the width of the text that attn2 looks at.
  std::string_view unet() const {
    for (const Tensor* down : downs_) {
      const bool key = down->name.find("attn2.to_k") != std::string_view::npos ||
                       down->name.find("attn2_to_k") != std::string_view::npos;
      if (!key || down->shape.rank < 2) continue;
      if (down->shape[1] == 768) return "sd1";
      if (down->shape[1] == 1024) return "sd2";
      if (down->shape[1] == 2048) return "sdxl";
    }
    const bool two = std::any_of(file_.tensors.begin(), file_.tensors.end(),
                                 [](const Tensor& t) { return t.name.starts_with("lora_te2_"); });
    return two ? "sdxl" : "";
  }

  // One more than the largest number after `word` and '.' or '_'.
  std::uint64_t blocks(std::string_view word) const {
    std::uint64_t most = 0;
    for (const Tensor* down : downs_) {
      const std::size_t at = down->name.find(word);
      if (at == std::string_view::npos) continue;
      std::uint64_t number = 0;
      for (const char c : down->name.substr(std::min(at + word.size() + 1, down->name.size()))) {
        if (c < '0' || c > '9' || number > 9999) break;
        number = number * 10 + static_cast<std::uint64_t>(c - '0');
      }
      most = std::max(most, number + 1);
    }
    return most;
  }

  const TensorFile& file_;
  LoraFinding out_;
  std::uint64_t kinds_ = 0;
  std::vector<const Tensor*> downs_;
};

}  // namespace

std::optional<LoraFinding> find_lora(const TensorFile& file) { return LoraSearch(file).run(); }

}  // namespace genscope::inspect

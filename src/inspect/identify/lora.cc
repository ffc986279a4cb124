#include "inspect/identify/lora.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "inspect/identify/vocabulary.h"

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

// Names of trainers that are not the model's own.
struct Habit {
  std::string_view word;
  std::string_view architecture;
};
constexpr Habit kHabits[] = {
    {"double_blocks.0.processor.", "flux"},  // XLabs
    {"single_blocks.0.processor.", "flux"},
};

// A release whose blocks are wider or narrower than the others of its architecture.
struct Release {
  std::string_view architecture;
  std::string_view block;
  std::uint64_t width;
  std::string_view title;
};
constexpr Release kReleases[] = {
    {"hunyuan_video", "transformer_blocks", 2048, "HunyuanVideo-1.5"},
    {"hunyuan_video", "transformer_blocks", 3584, "HunyuanImage-2.1"},
};

// What trainers and loaders put before a module's name. `flat`: the rest has '_' for '.'.
struct Begin {
  std::string_view text;
  bool flat = false;
};
constexpr Begin kBegins[] = {
    {"lora_unet_", true},
    {"lora_transformer_", true},
    {"lycoris_", true},
    {"base_model.model."},
    {"model.diffusion_model."},
    {"diffusion_model."},
    {"transformer."},
    {"unet."},
    {"net."},
    {"model."},
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

  // The base model: what the trainer wrote, and the models that have all of the adapted modules.
  void name_target() {
    const std::string_view said = told();
    gather();
    std::vector<const Vocabulary*> bases = fitting();
    const auto is_said = [&](const Vocabulary* v) { return v->architecture == said; };
    if (!said.empty()) {
      out_.lora.target = said;
      if (!bases.empty() && std::none_of(bases.begin(), bases.end(), is_said)) {
        out_.confidence = Confidence::medium;
        out_.evidence.push_back(
            fmt::format("but its modules are those of {}", bases.front()->architecture));
      }
      return;
    }
    if (bases.empty()) return by_habit();
    out_.lora.target = bases.front()->architecture;
    out_.evidence.push_back(
        fmt::format("{}: a module of {}", modules_.front().name, bases.front()->architecture));
    for (const Vocabulary* base : bases) {
      const auto at = std::find(out_.bases.begin(), out_.bases.end(), base->architecture);
      if (at == out_.bases.end()) out_.bases.emplace_back(base->architecture);
    }
    if (out_.bases.size() > 1) out_.confidence = Confidence::medium;
    if (!widths_fit_) {
      out_.confidence = Confidence::medium;
      out_.evidence.push_back("but no release of it has layers as wide as these");
    }
    if (out_.bases.size() == 1 && widths_fit_) out_.release = release();
  }

  // Where releases of one architecture have names of their own: by the width of their blocks.
  std::string_view release() const {
    for (const Release& one : kReleases) {
      if (one.architecture != out_.lora.target) continue;
      for (const Module& module : modules_) {
        if (module.width == one.width && module.path.find(one.block) != std::string::npos) {
          return one.title;
        }
      }
    }
    return {};
  }

  std::string_view told() {
    for (const char* const key : {"ss_base_model_version", "modelspec.architecture"}) {
      std::string value(file_.meta(key));
      std::transform(value.begin(), value.end(), value.begin(),
                     [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
      for (const Base& base : kBases) {
        if (value.find(base.word) == std::string::npos) continue;
        out_.evidence.push_back(fmt::format("{} = {}", key, file_.meta(key)));
        return base.architecture;
      }
    }
    return {};
  }

  void by_habit() {
    for (const Habit& habit : kHabits) {
      for (const Tensor* down : downs_) {
        if (down->name.find(habit.word) == std::string_view::npos) continue;
        out_.lora.target = habit.architecture;
        out_.evidence.push_back(std::string(down->name));
        return;
      }
    }
  }

  // The adapted modules, each kind once for every block number that it has.
  void gather() {
    for (const Tensor* down : downs_) {
      if (is_text_encoder(down->name)) continue;
      Module module;
      module.name = down->name;
      std::string_view path =
          down->name.substr(0, down->name.size() - end_of(down->name)->text.size());
      for (const Begin& begin : kBegins) {
        if (!path.starts_with(begin.text)) continue;
        path.remove_prefix(begin.text.size());
        module.flat = begin.flat;
        break;
      }
      module.path = path;
      constexpr std::string_view kProcessor = ".processor.";
      const std::size_t at = module.path.find(kProcessor);
      if (at != std::string::npos) module.path.replace(at, kProcessor.size(), ".");
      const bool product = end_of(down->name)->kind == "lora" && down->shape.rank >= 2;
      module.width = product ? down->shape[1] : 0;
      modules_.push_back(std::move(module));
    }
  }

  // The networks that have all modules; of several those whose layers are as wide, too.
  std::vector<const Vocabulary*> fitting() {
    std::vector<const Vocabulary*> named;
    std::vector<const Vocabulary*> sized;
    std::vector<const Vocabulary*> whole;
    if (modules_.empty()) return named;
    const bool two_encoders =
        std::any_of(file_.tensors.begin(), file_.tensors.end(),
                    [](const Tensor& t) { return t.name.starts_with("lora_te2_"); });
    for (const Vocabulary& base : base_vocabularies()) {
      if (two_encoders && base.architecture != "sdxl" && base.architecture != "sd3") continue;
      const auto has = [&](const Module& m) {
        // kohya's trainers run the authors' code, not ComfyUI's
        return !(m.flat && base.naming == "comfy") && has_module(base, m.path, m.flat);
      };
      const auto wide = [&](const Module& m) {
        return m.width == 0 || has_width(base, m.path, m.width);
      };
      if (!std::all_of(modules_.begin(), modules_.end(), has)) continue;
      named.push_back(&base);
      if (!std::all_of(modules_.begin(), modules_.end(), wide)) continue;
      sized.push_back(&base);
      if (reaches_the_end(base)) whole.push_back(&base);
    }
    widths_fit_ = named.empty() || !sized.empty();
    return !whole.empty() ? whole : !sized.empty() ? sized : named;
  }

  // Trainers adapt all blocks: whether the last of each kind is the model's last.
  bool reaches_the_end(const Vocabulary& base) const {
    std::map<std::string_view, ModuleBlock> last;
    for (const Module& module : modules_) {
      ModuleBlock block;
      has_module(base, module.path, module.flat, &block);
      ModuleBlock& most = last[block.stem];
      if (block.number >= most.number) most = block;
    }
    last.erase("");
    return !last.empty() && std::all_of(last.begin(), last.end(), [](const auto& row) {
      return row.second.number + 1 == row.second.of;
    });
  }

  struct Module {
    std::string_view name;
    std::string path;
    std::uint64_t width = 0;  // of its input; 0: not told
    bool flat = false;
  };

  const TensorFile& file_;
  LoraFinding out_;
  std::uint64_t kinds_ = 0;
  std::vector<const Tensor*> downs_;
  std::vector<Module> modules_;
  bool widths_fit_ = true;  // of those that have the modules, one has layers so wide
};

}  // namespace

std::optional<LoraFinding> find_lora(const TensorFile& file) { return LoraSearch(file).run(); }

}  // namespace genscope::inspect

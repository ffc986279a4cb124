// What a model file or folder is: its parts, their parameters, dtypes and bytes, and the
// architecture that the names and shapes of its tensors tell. Headers only are read; no weight is
// touched and nothing is executed, so that a model of 40 GB takes milliseconds and a hostile one
// does no harm.
//
//   Result<Model> model = inspect_model("models/FLUX.1-dev");
//   if (!model) return say(model.error().message);
//   for (const Component& part : model->components) ...
//
// All functions are pure but for reading files, and may be called from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/error.h>

namespace genscope {

// Storage type of a tensor's elements. One list for safetensors, GGUF and torch.
enum class Dtype : std::uint8_t {
  unknown,
  f64,
  f32,
  f16,
  bf16,
  f8_e4m3,
  f8_e5m2,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  f8_e8m0,
  f6_e2m3,
  f6_e3m2,
  f4,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  c64,
  c128,
  // GGML blocks
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q8_1,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  q8_k,
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
  iq4_nl,
  iq4_xs,
  tq1_0,
  tq2_0,
  mxfp4,
  nvfp4,
};
std::string_view name(Dtype dtype) noexcept;                      // "bf16", "q4_k"
double bits_per_element(Dtype dtype) noexcept;                    // 16, 4.5; 0 if unknown
std::optional<Dtype> find_dtype(std::string_view name) noexcept;  // by name, as users type it

// Sizes of a tensor, outermost first as torch has them (GGUF stores them the other way round).
struct Shape {
  static constexpr std::size_t kMaxRank = 8;
  std::array<std::uint64_t, kMaxRank> sizes{};
  std::uint8_t rank = 0;

  std::span<const std::uint64_t> span() const noexcept { return {sizes.data(), rank}; }
  std::uint64_t operator[](std::size_t i) const noexcept { return sizes[i]; }
  std::uint64_t elements() const noexcept;  // readers have checked that it fits
  friend bool operator==(const Shape&, const Shape&) = default;
};

struct Tensor {
  std::string_view name;  // in TensorFile::names
  Shape shape;
  std::uint64_t bytes = 0;  // in the file
  Dtype dtype = Dtype::unknown;
};

enum class Container : std::uint8_t { safetensors, sharded, gguf, torch_zip, torch_legacy, folder };
std::string_view name(Container container) noexcept;

// The header of one file, or of all shards of an index.
struct TensorFile {
  std::string path;
  Container container = Container::safetensors;
  std::uint64_t file_bytes = 0;    // all shards
  std::uint64_t header_bytes = 0;  // what had to be read
  std::vector<Tensor> tensors;     // in the file's order; names are unique
  // Strings and numbers as text; arrays are left out, but for their length: "array[151936]".
  std::vector<std::pair<std::string, std::string>> metadata;
  // What a user should know: a foreign global in a pickle, a shard that is missing.
  std::vector<std::string> notes;
  std::shared_ptr<const std::string> names;  // what Tensor::name points into

  const Tensor* find(std::string_view name) const noexcept;  // linear; detection has its own index
  std::string_view meta(std::string_view key) const noexcept;  // "" if absent
};

// Reads the header of a file of any container (recognised by its bytes, not by its name), or of all
// shards that a *.safetensors.index.json names.
Result<TensorFile> read_tensor_file(const std::string& path);

enum class Family : std::uint8_t {
  unknown,
  mmdit,
  dit,
  unet,
  causal_video,
  language,
  vision_language,
  vae,
  text_encoder,
  vision_encoder,
  lora,
  controlnet,
  scheduler,
  tokenizer,
  other,
};
std::string_view name(Family family) noexcept;

enum class Confidence : std::uint8_t { none, low, medium, high };
std::string_view name(Confidence confidence) noexcept;

// Sizes of a network as its tensors tell them; 0 where they do not.
struct Dimensions {
  std::uint64_t width = 0;           // d: hidden width of a transformer; of a UNet its first level
  std::uint64_t layers = 0;          // blocks; of two-kind models the dual-stream ones
  std::uint64_t single_layers = 0;   // single-stream blocks
  std::uint64_t refiner_layers = 0;  // of each refiner (Lumina2, Z-Image)
  std::uint64_t heads = 0;
  std::uint64_t ffn_width = 0;    // f
  std::uint64_t kv_width = 0;     // of k and v if narrower than the width
  std::uint64_t in_channels = 0;  // of the latent, before patching
  std::uint64_t out_channels = 0;
  std::uint64_t patch = 0;              // side of a patch in latent pixels
  std::uint64_t text_width = 0;         // of the text embedding that comes in
  std::uint64_t pooled_width = 0;       // of a pooled text embedding, if it takes one
  std::uint64_t attention2_layers = 0;  // SD3.5-M: blocks with a second attention
  bool guidance_embedding = false;
  std::uint64_t image_width =
      0;  // of an image embedding that comes in beside the text (Wan 2.1 i2v)
};

// What a network is. Unknown is an answer: architecture is then empty and evidence says what was
// looked at.
struct Identity {
  std::string architecture;  // "flux", "qwen_image", "sdxl", "t5"; the key of the cost model
  std::string variant;       // "dev", "schnell", "fill", "14B i2v"
  std::string title;         // for people: "FLUX.1-dev"
  Family family = Family::unknown;
  Confidence confidence = Confidence::none;
  std::vector<std::string> evidence;  // tensor names, shapes, metadata and class names
  std::string naming;                 // "diffusers", "original", "gguf", ""
  Dimensions dimensions;
};

struct DtypeShare {
  Dtype dtype = Dtype::unknown;
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
};

struct Lora {
  std::string kind;                  // "lora", "loha", "lokr", "dora", "diff"
  std::vector<std::uint64_t> ranks;  // distinct, ascending
  std::uint64_t modules = 0;         // adapted layers
  std::string target;                // architecture of the base model; "" if unknown
  bool text_encoder = false;         // adapts a text encoder too
};

struct Component {
  std::string name;        // of its folder or prefix: "transformer", "vae"; "" if it is the file
  std::string class_name;  // as a config has it: "FluxTransformer2DModel"
  Identity identity;
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;  // weights: without scales, codes and buffers of quantisation
  std::uint64_t elements = 0;    // everything stored
  std::uint64_t bytes = 0;
  std::vector<DtypeShare> dtypes;  // largest first
  std::string quantisation;        // "", "gguf q4_k", "fp8 scaled", "bnb nf4", "svdquant"
  std::optional<Lora> lora;
  std::vector<std::string> files;
};

struct Model {
  std::string path;
  Container container = Container::safetensors;
  std::string pipeline_class;  // of a diffusers folder
  Identity identity;           // of the whole: its denoiser's, or that of its only part
  std::vector<Component> components;
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
  std::vector<std::pair<std::string, std::string>> metadata;  // of a single file; long values cut
  std::vector<std::string> notes;

  const Component* denoiser() const noexcept;  // the first, or null
};

// Any of the above: a file, an index, a diffusers folder, a folder with one model.
Result<Model> inspect_model(const std::string& path);

// The notes of a model, those about safety first.
std::vector<std::string> ordered_notes(const Model& model);
// One document, schema genscope.model/1 (docs/models.md). `files`: headers whose tensors it lists.
std::string to_json(const Model& model, const std::vector<TensorFile>& files = {});

// What the tensors of one header are. Prefixes are stripped; an all-in-one checkpoint gives one
// component for each part. Pure.
std::vector<Component> identify(const TensorFile& file);

}  // namespace genscope

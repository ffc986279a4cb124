#include "analyze/compare/setting_place.h"

namespace genscope::analysis {
namespace {

constexpr auto kEnvironment = Place::environment;
constexpr auto kWorkload = Place::workload;
constexpr auto kOther = Place::other;

struct Row {
  std::string_view key;  // without "set." or "env."; ending in "[]": any key in the brackets
  Place place;
  bool decisive;
  std::string_view alias_of = {};
};

// clang-format off
constexpr Row kRows[] = {
  // Another amount of work.
  {"steps", kWorkload, true}, {"num_steps", kWorkload, true, "steps"},
  {"num_inference_steps", kWorkload, true, "steps"},
  {"width", kWorkload, true}, {"height", kWorkload, true},
  {"size", kWorkload, true}, {"resolution", kWorkload, true, "size"},
  {"image_size", kWorkload, true, "size"},
  {"frames", kWorkload, true}, {"num_frames", kWorkload, true, "frames"},
  {"video_length", kWorkload, true, "frames"},
  {"batch", kWorkload, true}, {"batch_size", kWorkload, true, "batch"},
  {"images", kWorkload, true}, {"num_images", kWorkload, true, "images"},
  {"num_images_per_prompt", kWorkload, true, "batch"},
  {"tokens", kWorkload, true}, {"target_tokens", kWorkload, true},
  {"reference_tokens", kWorkload, true},
  {"model", kWorkload, true}, {"model_name", kWorkload, true, "model"},
  {"model_id", kWorkload, true, "model"}, {"model.name", kWorkload, true, "model"},
  {"checkpoint", kWorkload, true, "model"}, {"models", kWorkload, true},
  {"arch", kWorkload, true}, {"architecture", kWorkload, true, "arch"},
  {"model.arch[]", kWorkload, true}, {"model.params[]", kWorkload, true},
  {"training", kWorkload, true},

  // The same work done in another way: what people change on purpose.
  {"dtype", kWorkload, false}, {"torch_dtype", kWorkload, false, "dtype"},
  {"precision", kWorkload, false, "dtype"},
  {"quant", kWorkload, false}, {"quantization", kWorkload, false, "quant"},
  {"guidance", kWorkload, false}, {"guidance_scale", kWorkload, false, "guidance"},
  {"cfg", kWorkload, false, "guidance"},
  {"scheduler", kWorkload, false}, {"sampler", kWorkload, false, "scheduler"},
  {"offload", kWorkload, false}, {"compile", kWorkload, false}, {"cache", kWorkload, false},
  {"attn", kWorkload, false}, {"attention", kWorkload, false, "attn"},
  {"lora", kWorkload, false}, {"vae_tiling", kWorkload, false}, {"strength", kWorkload, false},
  {"threads", kWorkload, false}, {"ranks", kWorkload, false},
  {"max_sequence_length", kWorkload, false},

  // Libraries, drivers, hardware.
  {"torch", kEnvironment, true}, {"diffusers", kEnvironment, true},
  {"transformers", kEnvironment, true}, {"accelerate", kEnvironment, true},
  {"xformers", kEnvironment, true}, {"flash_attn", kEnvironment, true},
  {"triton", kEnvironment, true}, {"python", kEnvironment, true}, {"cuda", kEnvironment, true},
  {"cudnn", kEnvironment, true}, {"rocm", kEnvironment, true}, {"backend", kEnvironment, true},
  {"device", kEnvironment, true}, {"platform", kEnvironment, true}, {"os", kEnvironment, true},
  {"kernel", kEnvironment, true}, {"driver", kEnvironment, true}, {"gpu", kEnvironment, true},
  {"gpu_architecture", kEnvironment, true}, {"gpu_multiprocessors", kEnvironment, true},
  {"gpu_memory_bytes", kEnvironment, true}, {"gpu_power_limit_watts", kEnvironment, true},
  {"cpu", kEnvironment, true}, {"cpus", kEnvironment, true},
  {"cpu_limit_cores", kEnvironment, true}, {"memory_limit_bytes", kEnvironment, true},
  // A container's host has another name each time; memory varies with the kernel by a little.
  {"host", kEnvironment, false}, {"memory_bytes", kEnvironment, false},
  {"genscope", kEnvironment, false},
  {"TORCHINDUCTOR_CACHE_DIR", kEnvironment, false}, {"NCCL_DEBUG", kEnvironment, false},

  // Another picture of the same cost, and places.
  {"command", kOther, false}, {"seed", kOther, false}, {"prompt", kOther, false},
  {"negative_prompt", kOther, false}, {"output", kOther, false}, {"output_dir", kOther, false},
  {"out", kOther, false}, {"path", kOther, false}, {"pid", kOther, false},
};
// clang-format on

bool matches(std::string_view pattern, std::string_view key) {
  if (!pattern.ends_with("[]")) return pattern == key;
  return key.starts_with(pattern.substr(0, pattern.size() - 1)) && key.ends_with(']');
}

const Row* find_row(std::string_view key) {
  for (const Row& row : kRows) {
    if (matches(row.key, key)) return &row;
  }
  return nullptr;
}

}  // namespace

SettingPlace place_of(std::string_view key) {
  const bool is_setting = key.starts_with("set."), is_environment = key.starts_with("env.");
  const std::string_view plain = is_setting || is_environment ? key.substr(4) : key;
  const Row* const row = find_row(plain);
  if (row != nullptr && (!is_environment || row->place == kEnvironment)) {
    return {std::string(row->alias_of.empty() ? plain : row->alias_of), row->place, row->decisive};
  }
  if (is_environment) return {std::string(plain), kEnvironment, true};
  const bool told = is_setting || key.starts_with("model.") || key.starts_with("lora.");
  return {std::string(key), told ? kWorkload : kOther, false};
}

}  // namespace genscope::analysis

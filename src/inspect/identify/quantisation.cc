#include "inspect/identify/quantisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "inspect/identify/packed.h"

namespace genscope::inspect {
namespace {

// Marks of a scheme, by the last word of a name or a word in it.
enum class Mark : std::uint8_t {
  none,
  buffer,    // of batch norm, rotary embeddings, old schedules
  scale,     // of scaled fp8 or int8
  scale2,    // second level: nvfp4
  comfy,     // per-layer description of ComfyUI
  bnb4_nf4,  // bitsandbytes
  bnb4_fp4,
  bnb4,
  bnb8,
  packed,  // scales, zero points and low-rank branches beside a packed weight
};

struct SchemeRow {
  std::string_view last;
  Mark mark;
};
constexpr SchemeRow kLastWords[] = {
    {"position_ids", Mark::buffer},
    {"inv_freq", Mark::buffer},
    {"running_mean", Mark::buffer},
    {"running_var", Mark::buffer},
    {"num_batches_tracked", Mark::buffer},
    {"rope_freqs", Mark::buffer},
    {"pe", Mark::buffer},
    {"std-of-means", Mark::buffer},
    {"mean-of-means", Mark::buffer},
    {"mean-of-stds", Mark::buffer},
    {"mean-of-stds_over_std-of-means", Mark::buffer},
    {"channel", Mark::buffer},
    {"relative_position_index", Mark::buffer},
    {"token_type_ids", Mark::buffer},
    {"scale_weight", Mark::scale},
    {"scale_input", Mark::scale},
    {"weight_scale", Mark::scale},
    {"input_scale", Mark::scale},
    {"weight_scale_inv", Mark::scale},
    {"scaled_fp8", Mark::scale},
    {"weight_scale_2", Mark::scale2},
    {"comfy_quant", Mark::comfy},
    {"bitsandbytes__nf4", Mark::bnb4_nf4},
    {"bitsandbytes__fp4", Mark::bnb4_fp4},
    {"absmax", Mark::bnb4},
    {"quant_map", Mark::bnb4},
    {"nested_absmax", Mark::bnb4},
    {"nested_quant_map", Mark::bnb4},
    {"SCB", Mark::bnb8},
    {"weight_format", Mark::bnb8},
    {"wscales", Mark::packed},
    {"wcscales", Mark::packed},
    {"wtscale", Mark::packed},
    {"smooth", Mark::packed},
    {"smooth_orig", Mark::packed},
    {"smooth_factor", Mark::packed},
    {"smooth_factor_orig", Mark::packed},
    {"proj_down", Mark::packed},
    {"proj_up", Mark::packed},
    {"lora_down", Mark::packed},
    {"lora_up", Mark::packed},
    {"wzeros", Mark::packed},
    {"qzeros", Mark::packed},
    {"scales", Mark::packed},
    {"g_idx", Mark::packed},
    {"biases", Mark::packed},
    {"weight_scales", Mark::packed},
    {"weight_shape", Mark::packed},
    {"weight_zero_point", Mark::packed},
    {"weight_g_idx", Mark::packed},
    {"weight_global_scale", Mark::packed},
    {"input_global_scale", Mark::packed},
    {"_scale", Mark::packed},
    {"_shift", Mark::packed},
    {"_zeropoint", Mark::packed},
    {"output_scale", Mark::packed},
    {"_weight_scale", Mark::packed},
    {"_weight_zero_point", Mark::packed},
    {"_weight_scale_and_zero", Mark::packed},
    {"_weight_act_pre_scale", Mark::packed},
    {"_weight_per_tensor_scale", Mark::packed},
    {"__scale", Mark::packed},
    {"__zero_point", Mark::packed},
    {"quanto_qmap", Mark::packed},
};

std::string_view last_word(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

Mark mark_of(std::string_view name) {
  const std::string_view word = last_word(name);
  // Nearly all names of a model end so; the table is for the others.
  if (word == "weight" || word == "bias") return Mark::none;
  for (const SchemeRow& row : kLastWords) {
    if (word == row.last) return row.mark;
  }
  return Mark::none;
}

class Counter {
 public:
  Counter(const TensorView& part, std::span<const std::string_view> buffers)
      : part_(part), buffers_(buffers) {}

  Contents count() {
    for (const std::uint32_t id : part_.members()) {
      const Mark mark = mark_of(part_.at(id).name);
      seen_[static_cast<std::size_t>(mark)] = true;
      has_packed_ = has_packed_ || unpack(part_.index(), part_.at(id)).has_value();
    }
    for (const std::uint32_t id : part_.members()) add(part_.at(id));
    std::sort(out_.dtypes.begin(), out_.dtypes.end(), [](const DtypeShare& a, const DtypeShare& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.dtype < b.dtype;
    });
    out_.quantisation = scheme();
    return std::move(out_);
  }

 private:
  bool seen(Mark mark) const { return seen_[static_cast<std::size_t>(mark)]; }

  bool is_buffer(std::string_view name) const {
    if (!name.starts_with(part_.prefix())) return false;
    name.remove_prefix(part_.prefix().size());
    return std::find(buffers_.begin(), buffers_.end(), name) != buffers_.end();
  }

  // How many weights a tensor holds; 0 if it is no weight.
  std::uint64_t weights_of(const Tensor& tensor) {
    const std::uint64_t elements = tensor.shape.elements();
    if (const std::optional<Packed> packed = unpack(part_.index(), tensor)) {
      const std::string label = label_of(*packed, tensor.dtype);
      packed_[label] += packed->weights;
      return packed->weights;
    }
    const Mark mark = mark_of(tensor.name);
    // A product may be called like a scale (nunchaku's "smooth", MLX's "scales"); without a packed
    // weight in the file it is one of the model.
    const bool belongs = mark == Mark::packed && !has_packed_;
    if ((mark != Mark::none && !belongs) || is_buffer(tensor.name)) return 0;
    const bool bytes = tensor.dtype == Dtype::u8 && tensor.name.ends_with("weight");
    const bool four_bits = seen(Mark::bnb4) || seen(Mark::scale2);
    return bytes && four_bits ? 2 * elements : elements;
  }

  static std::string label_of(const Packed& packed, Dtype dtype) {
    if (packed.scheme == "svdquant") return "svdquant";
    if (packed.floating && packed.bits == 8) {
      return fmt::format("{} fp8 {}", packed.scheme, name(dtype).substr(3));
    }
    if (packed.floating) return fmt::format("{} fp{}", packed.scheme, packed.bits);
    const bool integers = packed.scheme == "quanto" || packed.scheme == "torchao";
    if (integers) return fmt::format("{} int{}", packed.scheme, packed.bits);
    return packed.bits == 0 ? std::string(packed.scheme)
                            : fmt::format("{} {}-bit", packed.scheme, packed.bits);
  }

  void add(const Tensor& tensor) {
    const std::uint64_t elements = tensor.shape.elements();
    const std::uint64_t weights = weights_of(tensor);
    auto share = std::find_if(out_.dtypes.begin(), out_.dtypes.end(),
                              [&](const DtypeShare& s) { return s.dtype == tensor.dtype; });
    if (share == out_.dtypes.end()) {
      share = out_.dtypes.insert(out_.dtypes.end(), DtypeShare{.dtype = tensor.dtype});
    }
    ++share->tensors;
    share->parameters += weights;
    share->bytes += tensor.bytes;
    ++out_.tensors;
    out_.parameters += weights;
    out_.elements += elements;
    out_.bytes += tensor.bytes;
  }

  std::string scheme() const {
    if (seen(Mark::bnb4_nf4)) return "bnb nf4";
    if (seen(Mark::bnb4_fp4)) return "bnb fp4";
    if (seen(Mark::bnb4)) return "bnb 4-bit";
    if (seen(Mark::bnb8)) return "bnb int8";
    if (!packed_.empty()) {  // what holds most of the weights
      return std::max_element(packed_.begin(), packed_.end(),
                              [](const auto& a, const auto& b) { return a.second < b.second; })
          ->first;
    }
    if (out_.dtypes.empty()) return {};
    const Dtype most = dominant();
    if (seen(Mark::scale2)) return "nvfp4";
    const std::string_view type = name(most);
    if (most >= Dtype::q4_0) return fmt::format("gguf {}", type);
    const bool fp8 = type.starts_with("f8_");
    if (fp8) return seen(Mark::scale) ? "fp8 scaled" : fmt::format("fp8 {}", type.substr(3));
    if (most == Dtype::i8) return seen(Mark::scale) ? "int8 scaled" : "int8";
    return {};
  }

  // Of the dtypes, the one of most parameters.
  Dtype dominant() const {
    return std::max_element(
               out_.dtypes.begin(), out_.dtypes.end(),
               [](const DtypeShare& a, const DtypeShare& b) { return a.parameters < b.parameters; })
        ->dtype;
  }

  const TensorView& part_;
  std::span<const std::string_view> buffers_;
  Contents out_;
  std::array<bool, 16> seen_{};
  bool has_packed_ = false;
  std::map<std::string, std::uint64_t> packed_;  // scheme to weights
};

}  // namespace

bool is_bookkeeping(std::string_view name) {
  return mark_of(name) != Mark::none || name.starts_with("__");
}

std::string_view without_weight(std::string_view name) {
  const std::string_view stem = packed_stem(name);
  if (stem.data() != nullptr) return stem.substr(0, std::max<std::size_t>(stem.size(), 1) - 1);
  const std::string_view word = last_word(name);
  if (word == name || (word != "weight" && word != "bias")) return name;
  return name.substr(0, name.size() - word.size() - 1);
}

Contents contents(const TensorView& part, std::span<const std::string_view> buffers) {
  return Counter(part, buffers).count();
}

}  // namespace genscope::inspect

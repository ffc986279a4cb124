#include "inspect/identify/quantisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
  svd,  // nunchaku: scales, smoothing and the low-rank branch
  svd_weight,
  gptq,  // zero points, group index
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
    {"wscales", Mark::svd},
    {"wcscales", Mark::svd},
    {"wtscale", Mark::svd},
    {"smooth", Mark::svd},
    {"smooth_orig", Mark::svd},
    {"smooth_factor", Mark::svd},
    {"smooth_factor_orig", Mark::svd},
    {"proj_down", Mark::svd},
    {"proj_up", Mark::svd},
    {"wzeros", Mark::svd},
    {"qweight", Mark::svd_weight},
    {"qzeros", Mark::gptq},
    {"scales", Mark::gptq},
    {"g_idx", Mark::gptq},
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

  // Weights in one stored element; 0 if it is no weight.
  std::uint64_t weights_per_element(const Tensor& tensor) const {
    const Mark mark = mark_of(tensor.name);
    if (mark == Mark::svd_weight) {
      return seen(Mark::gptq) && tensor.dtype == Dtype::i32 ? 8 : 2;  // of 4 bits each
    }
    if (mark != Mark::none || is_buffer(tensor.name)) return 0;
    const bool packed = tensor.dtype == Dtype::u8 && tensor.name.ends_with("weight");
    const bool four_bits = seen(Mark::bnb4) || seen(Mark::scale2);
    return packed && four_bits ? 2 : 1;
  }

  void add(const Tensor& tensor) {
    const std::uint64_t elements = tensor.shape.elements();
    const std::uint64_t weights = elements * weights_per_element(tensor);
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
    if (seen(Mark::svd_weight)) {
      if (seen(Mark::svd)) return "svdquant";
      return seen(Mark::gptq) ? "gptq or awq" : "packed";
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
};

}  // namespace

Contents contents(const TensorView& part, std::span<const std::string_view> buffers) {
  return Counter(part, buffers).count();
}

}  // namespace genscope::inspect

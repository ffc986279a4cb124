#include "inspect/identify/packed.h"

#include <algorithm>
#include <array>

#include "inspect/identify/tensor_view.h"

namespace genscope::inspect {
namespace {

constexpr std::uint64_t kWord = 32;  // bits of an int32

std::uint64_t axis(const Tensor* tensor, std::size_t i) {
  return tensor != nullptr && tensor->shape.rank > i ? tensor->shape[i] : 0;
}

// The tensors of one module.
class Module {
 public:
  Module(const TensorIndex& index, const Tensor& tensor, std::string_view stem)
      : index_(index), tensor_(tensor), stem_(stem) {}

  const Tensor* beside(std::string_view name) const { return index_.find(stem_, name); }
  std::uint64_t rows() const { return axis(&tensor_, 0); }
  std::uint64_t columns() const { return axis(&tensor_, 1); }
  const Tensor& tensor() const { return tensor_; }
  const TensorIndex& index() const { return index_; }

  // `of`: weights in a stored element, which are neighbours of a row.
  Packed wide(std::string_view scheme, unsigned bits, std::uint64_t of) const {
    return {scheme, bits, false, tensor_.shape.elements() * of, rows(), columns() * of};
  }

 private:
  const TensorIndex& index_;
  const Tensor& tensor_;
  std::string_view stem_;
};

bool is_fp8(Dtype dtype) {
  return dtype == Dtype::f8_e4m3 || dtype == Dtype::f8_e5m2 || dtype == Dtype::f8_e4m3fnuz ||
         dtype == Dtype::f8_e5m2fnuz;
}

// nunchaku: layers of 4 bits for weights and activations are int8 [out, in/2]; those of 4 bits for
// weights only are int32 [out/4, in/2], eight weights in each.
Packed nunchaku(const Module& m) {
  if (m.tensor().dtype != Dtype::i32) return m.wide("svdquant", 4, 2);
  return {"svdquant", 4, false, m.tensor().shape.elements() * 8, m.rows() * 4, m.columns() * 2};
}

// GPTQ packs along the input, [in*bits/32, out]; AWQ along the output, [in, out*bits/32]. Zero
// points are [in/group, out*bits/32] in both, scales [in/group, out].
Packed gptq_or_awq(const Module& m) {
  if (m.tensor().dtype != Dtype::i32) return m.wide("eetq", 8, 1);
  const std::uint64_t out = axis(m.beside("scales"), 1);
  const std::uint64_t zeros = axis(m.beside("qzeros"), 1);
  const std::uint64_t inputs = axis(m.beside("g_idx"), 0);
  std::uint64_t bits = 4;
  if (inputs != 0 && m.rows() * kWord % inputs == 0) {
    bits = m.rows() * kWord / inputs;
  } else if (out != 0 && zeros != 0 && zeros * kWord % out == 0) {
    bits = zeros * kWord / out;
  }
  if (bits == 0 || bits > 8) bits = 4;
  Packed packed{out == m.columns() || out == 0 ? "gptq" : "awq", static_cast<unsigned>(bits)};
  const bool awq = packed.scheme == "awq";
  packed.rows = awq ? m.columns() * kWord / bits : m.columns();
  packed.columns = awq ? m.rows() : m.rows() * kWord / bits;
  packed.weights = packed.rows * packed.columns;
  return packed;
}

// MLX: uint32 [out, in*bits/32] beside scales [out, in/group]. The two do not tell bits and group
// apart; the width of the model does, which its norms have.
struct MlxChoice {
  std::uint64_t bits, group;
};
constexpr std::array kMlxChoices = {
    MlxChoice{4, 64},  MlxChoice{8, 64},  MlxChoice{6, 64},  MlxChoice{3, 64},
    MlxChoice{2, 64},  MlxChoice{5, 64},  MlxChoice{4, 32},  MlxChoice{8, 32},
    MlxChoice{4, 128}, MlxChoice{8, 128}, MlxChoice{2, 128}, MlxChoice{3, 128},
    MlxChoice{6, 128}, MlxChoice{6, 32},  MlxChoice{3, 32},  MlxChoice{2, 32}};

bool mlx_fits(const MlxChoice& choice, const Tensor& weight, const Tensor& scales) {
  const std::size_t last = weight.shape.rank - 1U;
  return weight.shape[last] * kWord == scales.shape[last] * choice.group * choice.bits;
}

const Tensor* mlx_scales(const TensorIndex& index, const Tensor& tensor) {
  constexpr std::string_view kWeight = "weight";
  if (tensor.dtype != Dtype::u32 || tensor.shape.rank < 2 || !tensor.name.ends_with(kWeight)) {
    return nullptr;
  }
  const Tensor* scales =
      index.find(tensor.name.substr(0, tensor.name.size() - kWeight.size()), "scales");
  const bool fine = scales != nullptr && scales->shape.rank == tensor.shape.rank;
  return fine ? scales : nullptr;
}

// The choice that gives the most layers of the file a width that its norms have.
std::size_t usual_choice(const TensorIndex& index) {
  std::array<std::size_t, kMlxChoices.size()> votes{};
  for (const Tensor& tensor : index.file().tensors) {
    const Tensor* scales = mlx_scales(index, tensor);
    if (scales == nullptr) continue;
    const std::uint64_t groups = scales->shape[scales->shape.rank - 1U];
    for (std::size_t i = 0; i < kMlxChoices.size(); ++i) {
      const bool fits = mlx_fits(kMlxChoices[i], tensor, *scales);
      if (fits && index.is_width(groups * kMlxChoices[i].group)) ++votes[i];
    }
  }
  return static_cast<std::size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

Packed mlx(const Module& m, const Tensor& scales) {
  const std::size_t last = m.tensor().shape.rank - 1;
  const std::uint64_t groups = scales.shape[last];
  std::uint64_t outer = 1;
  for (std::size_t i = 0; i < last; ++i) outer *= m.tensor().shape[i];
  std::optional<std::size_t>& usual = m.index().packing();
  if (!usual) usual = usual_choice(m.index());
  const MlxChoice* best =
      mlx_fits(kMlxChoices[*usual], m.tensor(), scales) ? &kMlxChoices[*usual] : nullptr;
  for (const MlxChoice& choice : kMlxChoices) {  // some files mix bits
    if (best == nullptr && mlx_fits(choice, m.tensor(), scales)) best = &choice;
  }
  if (best == nullptr) return {"mlx", 0, false, m.tensor().shape.elements(), m.rows(), 0};
  const std::uint64_t inputs = groups * best->group;
  return {"mlx", static_cast<unsigned>(best->bits), false, outer * inputs, m.rows(), inputs};
}

// quanto: int8 and fp8 keep their shape; 4 and 2 bits are packed along the first axis, of groups
// [group, weights/group] or of rows.
Packed quanto(const Module& m, bool packed) {
  const bool fp8 = is_fp8(m.tensor().dtype);
  if (!packed) {
    return {"quanto", 8, fp8, m.tensor().shape.elements(), m.rows(), m.columns()};
  }
  constexpr std::uint64_t kGroup = 128;
  const Tensor* scale = m.beside("weight._scale");
  const bool grouped = axis(scale, 0) == 1 && axis(scale, 1) == m.columns();
  const std::uint64_t outer = grouped ? kGroup : axis(scale, 0);
  const std::uint64_t of = outer == m.rows() * 4 ? 4 : 2;
  const std::uint64_t out = grouped ? axis(m.beside("bias"), 0) : m.rows() * of;
  Packed result{"quanto", of == 4 ? 2U : 4U, false, m.tensor().shape.elements() * of, out};
  if (out != 0) result.columns = result.weights / out;
  return result;
}

// torchao: bytes hold two weights of 4 bits, int32 eight in tiles; int8 and fp8 keep their shape.
Packed torchao(const Module& m) {
  const Dtype dtype = m.tensor().dtype;
  if (dtype == Dtype::u8) return m.wide("torchao", 4, 2);
  if (dtype == Dtype::i32) {
    const std::uint64_t weights = m.tensor().shape.elements() * 8;
    return {"torchao", 4, false, weights};
  }
  return {"torchao", 8, is_fp8(dtype), m.tensor().shape.elements(), m.rows(), m.columns()};
}

// compressed-tensors: int32 [out, in*bits/32] with scales [out, in/group]; bytes are of fp4.
Packed compressed(const Module& m) {
  if (m.tensor().dtype == Dtype::u8) {
    Packed fp4 = m.wide("compressed-tensors", 4, 2);
    fp4.floating = true;
    return fp4;
  }
  const std::uint64_t groups = std::max<std::uint64_t>(axis(m.beside("weight_scale"), 1), 1);
  // A group has 32, 64 or 128 weights, or is the row. Of 4 bits if that is possible.
  const std::uint64_t group = m.columns() * 8 / groups;
  const bool four = groups == 1 || group == 128 || group == 64 || group == 32 || group == 16;
  return four ? m.wide("compressed-tensors", 4, 8) : m.wide("compressed-tensors", 8, 4);
}

}  // namespace

std::string_view packed_stem(std::string_view name) {
  if (name.ends_with(".weight") || name.ends_with(".bias")) return {};  // nearly all names
  for (const std::string_view end : kPackedNames) {
    if (!name.ends_with(end)) continue;
    const std::string_view stem = name.substr(0, name.size() - end.size());
    if (stem.empty() || stem.ends_with('.')) return stem;
  }
  return {};
}

std::optional<Packed> unpack(const TensorIndex& index, const Tensor& tensor) {
  constexpr std::string_view kWeight = "weight";
  if (tensor.dtype != Dtype::u32 && !index.packs()) return {};
  const std::string_view name = tensor.name;
  if (const Tensor* scales = mlx_scales(index, tensor)) {
    return mlx(Module(index, tensor, name.substr(0, name.size() - kWeight.size())), *scales);
  }
  const std::string_view stem = packed_stem(name);
  if (stem.data() == nullptr) return {};
  const Module m(index, tensor, stem);
  const std::string_view last = name.substr(stem.size());
  if (last == "qweight") {
    const bool gptq = m.beside("scales") != nullptr || m.beside("qzeros") != nullptr;
    return gptq || m.beside("weight_scales") != nullptr ? gptq_or_awq(m) : nunchaku(m);
  }
  if (last.starts_with("weight._data")) return quanto(m, last != "weight._data");
  if (last == "weight_packed") return compressed(m);
  return torchao(m);
}

}  // namespace genscope::inspect

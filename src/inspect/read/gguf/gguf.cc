#include "inspect/read/gguf/gguf.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "inspect/read/byte_cursor.h"
#include "inspect/read/dtype.h"
#include "inspect/read/gguf/gguf_values.h"
#include "inspect/read/tensor_list.h"

namespace genscope::inspect {
namespace {

// As many as a safetensors header may have; real ones have up to 20 MB, of tokens.
constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr std::uint32_t kMaxStoredRank = 64;

class GgufReader {
 public:
  explicit GgufReader(const ByteSource& source)
      : source_(source), cursor_(source, 4, source.size(), kMaxHeader) {}

  Result<TensorFile> read();

 private:
  bool head();
  bool info();
  bool info_shape(ShapeBuilder& shape, std::uint64_t& innermost);
  bool measure(std::string_view name, Dtype dtype, std::uint64_t innermost,
               const ShapeBuilder& shape, std::uint64_t& bytes);
  void set_names();
  void restore_shapes();
  bool place();

  const ByteSource& source_;
  ByteCursor cursor_;
  std::uint32_t version_ = 0;
  std::uint64_t tensor_count_ = 0, pair_count_ = 0;
  GgufValues values_;
  TensorFile file_;
  std::string names_;  // one after another; views are set when it has stopped growing
  std::vector<std::uint64_t> name_ends_;
  std::vector<std::uint64_t> offsets_;
  Tally folded_, unknown_;
};

bool GgufReader::head() {
  if (!cursor_.take(version_)) return false;
  if ((version_ & 0xFFFF) == 0 && version_ != 0) {
    return cursor_.fail("a big-endian GGUF", "convert it for little-endian machines");
  }
  if (version_ < 1 || version_ > 3) {
    return cursor_.fail("GGUF of version " + std::to_string(version_) + ", 1 to 3 are known",
                        "update genscope, or convert the model again");
  }
  const bool wide = version_ > 1;
  if (!take_count(cursor_, wide, tensor_count_) || !take_count(cursor_, wide, pair_count_)) {
    return false;
  }
  // The shortest pair: an empty key, a type, a byte. The shortest info: no name, no sizes.
  const std::uint64_t length = wide ? 8 : 4;
  if (pair_count_ > cursor_.left() / (length + 5)) {
    return cursor_.fail(std::to_string(pair_count_) + " metadata pairs do not fit in the file");
  }
  if (tensor_count_ > cursor_.left() / (length + 16)) {
    return cursor_.fail(std::to_string(tensor_count_) + " tensors do not fit in the file");
  }
  return true;
}

bool GgufReader::info_shape(ShapeBuilder& shape, std::uint64_t& innermost) {
  std::uint32_t rank = 0;
  if (!cursor_.take(rank)) return false;
  if (rank > kMaxStoredRank) {
    return cursor_.fail("a tensor of " + std::to_string(rank) + " dimensions");
  }
  std::array<std::uint64_t, kMaxStoredRank> sizes;
  for (std::uint32_t i = 0; i < rank; ++i) {
    if (!take_count(cursor_, version_ > 1, sizes[i])) return false;
  }
  innermost = rank > 0 ? sizes[0] : 1;
  for (std::uint32_t i = rank; i > 0; --i) {
    if (!shape.add(sizes[i - 1])) {
      return cursor_.fail("the product of a tensor's shape does not fit in 64 bits");
    }
  }
  return true;
}

bool GgufReader::measure(std::string_view name, Dtype dtype, std::uint64_t innermost,
                         const ShapeBuilder& shape, std::uint64_t& bytes) {
  if (dtype == Dtype::unknown) {
    unknown_.add(name);
    return true;  // place() takes what lies between it and the next
  }
  if (innermost % block_of(dtype).elements != 0) {
    return cursor_.fail("tensor " + shown(name) + " has rows of " + std::to_string(innermost) +
                        " elements, which are no whole blocks of " +
                        std::string(genscope::name(dtype)));
  }
  const auto stored = stored_bytes(dtype, shape.elements());
  if (!stored) return cursor_.fail("tensor " + shown(name) + " has more than 2^64 bytes");
  bytes = *stored;
  return true;
}

bool GgufReader::info() {
  std::string name;
  std::uint64_t length = 0, innermost = 0, offset = 0;
  if (!take_count(cursor_, version_ > 1, length) || !cursor_.text(length, name)) return false;
  ShapeBuilder shape;
  std::uint32_t type = 0;
  if (!info_shape(shape, innermost) || !cursor_.take(type) || !cursor_.take(offset)) return false;
  Tensor tensor{{}, shape.shape(), 0, ggml_dtype(type)};
  if (!measure(name, tensor.dtype, innermost, shape, tensor.bytes)) return false;
  if (shape.folded()) folded_.add(name);
  names_ += name;
  name_ends_.push_back(names_.size());
  file_.tensors.push_back(tensor);
  offsets_.push_back(offset);
  return true;
}

// Shapes that the converter noted, where they have as many elements as the stored ones.
void GgufReader::restore_shapes() {
  auto& known = values_.original_shapes;
  if (known.empty()) return;
  std::ranges::sort(known, {}, &std::pair<std::string, Shape>::first);
  for (Tensor& tensor : file_.tensors) {
    const auto it = std::ranges::lower_bound(
        known, tensor.name, {}, [](const auto& pair) -> std::string_view { return pair.first; });
    if (it != known.end() && it->first == tensor.name &&
        it->second.elements() == tensor.shape.elements()) {
      tensor.shape = it->second;
    }
  }
}

// Offsets lie in the data, whole blocks apart, and do not overlap.
bool GgufReader::place() {
  const std::uint64_t aligned =
      (cursor_.offset() + values_.alignment - 1) / values_.alignment * values_.alignment;
  const std::uint64_t data = std::min(aligned, source_.size());
  const std::uint64_t data_bytes = source_.size() - data;
  std::vector<std::uint32_t> order(file_.tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto key = [&](std::uint32_t i) { return std::pair(offsets_[i], file_.tensors[i].bytes); };
  if (!std::ranges::is_sorted(order, {}, key)) std::ranges::sort(order, {}, key);
  for (std::size_t k = 0; k < order.size(); ++k) {
    Tensor& tensor = file_.tensors[order[k]];
    const std::uint64_t offset = offsets_[order[k]];
    const std::uint64_t end = k + 1 < order.size() ? offsets_[order[k + 1]] : data_bytes;
    if (offset > data_bytes || tensor.bytes > data_bytes - offset) {
      return cursor_.fail("the data of tensor " + shown(tensor.name) + " (" +
                          std::to_string(tensor.bytes) + " bytes at " + std::to_string(offset) +
                          ") ends behind the " + std::to_string(data_bytes) +
                          " bytes of data that the file has");
    }
    if (offset % values_.alignment != 0) {
      return cursor_.fail("the data of tensor " + shown(tensor.name) + " is not aligned to " +
                          std::to_string(values_.alignment) + " bytes");
    }
    if (tensor.bytes > end - offset) {
      return cursor_.fail("the data of tensor " + shown(tensor.name) + " overlaps the next one");
    }
    if (tensor.dtype == Dtype::unknown) tensor.bytes = end - offset;
  }
  return true;
}

void GgufReader::set_names() {
  auto names = std::make_shared<const std::string>(std::move(names_));
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < file_.tensors.size(); ++i) {
    file_.tensors[i].name = std::string_view(*names).substr(begin, name_ends_[i] - begin);
    begin = name_ends_[i];
  }
  file_.names = std::move(names);
}

Result<TensorFile> GgufReader::read() {
  bool good = head();
  for (std::uint64_t i = 0; good && i < pair_count_; ++i) {
    good = take_pair(cursor_, version_ > 1, values_);
  }
  for (std::uint64_t i = 0; good && i < tensor_count_; ++i) good = info();
  if (!good) return cursor_.error();
  set_names();
  if (const auto twice = find_duplicate(file_.tensors)) {
    return broken(source_, cursor_.offset(),
                  "the header names tensor " + shown(file_.tensors[*twice].name) + " twice");
  }
  if (!place()) return cursor_.error();
  restore_shapes();
  folded_.note(file_.notes, "of more than 8 dimensions: the last ones are shown as their product");
  unknown_.note(file_.notes, "of a type that this version does not know: their bytes are counted");
  if (values_.left_out > 0) {
    file_.notes.push_back(std::to_string(values_.left_out) + " entries of metadata are left out");
  }
  file_.metadata = std::move(values_.metadata);
  file_.path = source_.path();
  file_.container = Container::gguf;
  file_.file_bytes = source_.size();
  file_.header_bytes = cursor_.offset();
  return std::move(file_);
}

}  // namespace

bool looks_like_gguf(std::string_view head) noexcept { return head.starts_with("GGUF"); }

Result<TensorFile> read_gguf(const ByteSource& source) { return GgufReader(source).read(); }

Dtype ggml_dtype(std::uint32_t type) noexcept {
  // 4 and 5 were given up. 31 to 33 and 36 to 38 were other orders of the same blocks.
  constexpr std::array kTypes{
      Dtype::f32,     Dtype::f16,    Dtype::q4_0,   Dtype::q4_1,  Dtype::unknown, Dtype::unknown,
      Dtype::q5_0,    Dtype::q5_1,   Dtype::q8_0,   Dtype::q8_1,  Dtype::q2_k,    Dtype::q3_k,
      Dtype::q4_k,    Dtype::q5_k,   Dtype::q6_k,   Dtype::q8_k,  Dtype::iq2_xxs, Dtype::iq2_xs,
      Dtype::iq3_xxs, Dtype::iq1_s,  Dtype::iq4_nl, Dtype::iq3_s, Dtype::iq2_s,   Dtype::iq4_xs,
      Dtype::i8,      Dtype::i16,    Dtype::i32,    Dtype::i64,   Dtype::f64,     Dtype::iq1_m,
      Dtype::bf16,    Dtype::q4_0,   Dtype::q4_0,   Dtype::q4_0,  Dtype::tq1_0,   Dtype::tq2_0,
      Dtype::iq4_nl,  Dtype::iq4_nl, Dtype::iq4_nl, Dtype::mxfp4, Dtype::nvfp4,
  };
  return type < kTypes.size() ? kTypes[type] : Dtype::unknown;
}

}  // namespace genscope::inspect

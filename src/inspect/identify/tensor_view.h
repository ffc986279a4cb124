// Names of a header, looked up fast: one hash table for the file, and views of it that see the
// names of one part without their prefix. No name is copied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/inspect.h>

namespace genscope::inspect {

// All names of a file. The file must outlive it.
class TensorIndex {
 public:
  explicit TensorIndex(const TensorFile& file);

  const TensorFile& file() const noexcept { return file_; }
  const Tensor& operator[](std::uint32_t id) const noexcept { return file_.tensors[id]; }
  // Whether some weights have the names of packed ones (kPackedNames).
  bool packs() const noexcept { return packs_; }
  // Which packing the file has where its tensors alone do not tell; found when first asked for.
  std::optional<std::size_t>& packing() const noexcept { return packing_; }
  // Whether a vector of this size is in the file: a norm's, and so the width of a layer.
  bool is_width(std::uint64_t size) const;
  // Null if there is none. The name is `prefix` and `rest` together.
  const Tensor* find(std::string_view prefix, std::string_view rest) const noexcept;

 private:
  const TensorFile& file_;
  std::vector<std::uint32_t> slots_;  // id + 1, or 0; open addressing, at most half full
  bool packs_ = false;
  mutable std::optional<std::size_t> packing_;
  mutable std::vector<std::uint64_t> widths_;  // sorted; made when first asked for
};

// The tensors of one part of a file, under names without the part's prefix. Names that do not have
// all of the prefix, as `lm_head` beside `model.layers`, are found by what is left without the
// part's.
class TensorView {
 public:
  // `members`: ids, in the file's order. Both must outlive the view.
  TensorView(const TensorIndex& index, std::span<const std::uint32_t> members, std::string prefix)
      : index_(&index), members_(members), prefix_(std::move(prefix)), outer_(prefix_.size()) {}

  // The same tensors, with `more` taken off their names too.
  TensorView under(std::string_view more) const {
    TensorView inner = *this;
    inner.prefix_ += more;
    return inner;
  }

  const TensorFile& file() const noexcept { return index_->file(); }
  const TensorIndex& index() const noexcept { return *index_; }
  const std::string& prefix() const noexcept { return prefix_; }
  std::span<const std::uint32_t> members() const noexcept { return members_; }
  const Tensor& at(std::uint32_t id) const noexcept { return (*index_)[id]; }

  // A name without the prefix, or without the part's own if it does not have all of it.
  std::string_view bare(std::string_view name) const noexcept {
    if (name.starts_with(prefix_)) return name.substr(prefix_.size());
    return name.substr(std::min(outer_, name.size()));
  }

  // By name; of "X.weight" also what a quantiser made of it.
  const Tensor* find(std::string_view name) const noexcept;
  bool has(std::string_view name) const noexcept { return find(name) != nullptr; }

  // Size of an axis (negative: from the end) of a tensor; 0 if there is no such tensor or axis. Of
  // a packed weight the size before packing. Where the shape does not tell (bitsandbytes), axis 0
  // is taken from the bias.
  std::uint64_t size(std::string_view name, int axis) const noexcept;

  // How many blocks there are: one more than the largest N of names that begin with `stem` N ".".
  // Holes are allowed: a LoRA adapts some blocks, a shard may be missing.
  std::uint64_t blocks(std::string_view stem) const noexcept;
  // Tensors whose name begins and ends so.
  std::uint64_t count(std::string_view begin, std::string_view end) const noexcept;
  // Whether a name begins so.
  bool any(std::string_view begin) const noexcept;

 private:
  const TensorIndex* index_;
  std::span<const std::uint32_t> members_;
  std::string prefix_;
  std::size_t outer_;  // length of the part's own prefix
};

}  // namespace genscope::inspect

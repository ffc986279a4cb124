#include "inspect/read/torch/state_dict.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "inspect/read/tensor_list.h"

namespace genscope::inspect {
namespace {

using Kind = Pickle::Kind;

constexpr int kMaxDepth = 4;
// In the order in which they are preferred.
constexpr std::array<std::string_view, 10> kKeys{
    "state_dict", "model_state_dict", "model", "module", "params_ema", "params",
    "ema",        "generator",        "net",   "weights"};

std::size_t rank_of(std::string_view key) {
  return static_cast<std::size_t>(std::ranges::find(kKeys, key) - kKeys.begin());
}

std::size_t count_tensors(const Pickle::Dict& dict) {
  return static_cast<std::size_t>(std::ranges::count_if(
      dict, [](const Pickle::Item& item) { return item.value.kind == Kind::tensor; }));
}

struct Found {
  std::size_t dict = 0;
  std::size_t tensors = 0;
  std::size_t rank = kKeys.size();
};

// Each dict is looked at once, however often it is named.
class TensorSearch {
 public:
  explicit TensorSearch(const Pickle& pickle) : pickle_(pickle), seen_(pickle.dicts().size()) {}

  Found best(std::size_t dict, int depth) {
    seen_[dict] = true;
    Found found{dict, count_tensors(pickle_.dicts()[dict]), kKeys.size()};
    if (depth >= kMaxDepth) return found;
    for (const Pickle::Item& item : pickle_.dicts()[dict]) {
      if (item.value.kind != Kind::dict || seen_[item.value.at]) continue;
      Found inner = best(item.value.at, depth + 1);
      inner.rank = rank_of(item.key);
      const bool preferred = inner.rank < found.rank && inner.tensors > 0;
      const bool larger = inner.rank == found.rank && inner.tensors > found.tensors;
      if ((preferred && (found.dict != dict || inner.tensors >= found.tensors)) || larger) {
        found = inner;
      }
    }
    return found;
  }

 private:
  const Pickle& pickle_;
  std::vector<bool> seen_;
};

// The last tensor of each name stays, as in a dict.
std::size_t drop_overwritten(std::vector<Tensor>& tensors) {
  if (!find_duplicate(tensors)) return 0;
  std::unordered_map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < tensors.size(); ++i) last[tensors[i].name] = i;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (last[tensors[i].name] == i) tensors[kept++] = tensors[i];
  }
  const std::size_t dropped = tensors.size() - kept;
  tensors.resize(kept);
  return dropped;
}

}  // namespace

std::optional<std::size_t> find_state_dict(const Pickle& pickle) {
  if (pickle.root().kind != Kind::dict) return std::nullopt;
  const Found found = TensorSearch(pickle).best(pickle.root().at, 0);
  return found.tensors > 0 ? std::optional(found.dict) : std::nullopt;
}

void take_state_dict(const Pickle& pickle, TensorFile& file) {
  const auto dict = find_state_dict(pickle);
  Tally folded, unknown;
  std::vector<bool> counted(pickle.tensors().size());
  if (dict) {
    file.tensors.reserve(count_tensors(pickle.dicts()[*dict]));
    for (const auto& [key, value] : pickle.dicts()[*dict]) {
      if (value.kind != Kind::tensor) continue;
      const Pickle::Built& built = pickle.tensors()[value.at];
      counted[value.at] = true;
      file.tensors.push_back({key, built.shape, built.bytes, built.dtype});
      if (built.folded) folded.add(key);
      if (built.dtype == Dtype::unknown) unknown.add(key);
    }
    if (const std::size_t n = drop_overwritten(file.tensors); n > 0) {
      file.notes.push_back(std::to_string(n) + " tensors are set twice: the last ones count");
    }
  } else {
    file.notes.push_back("no state dict with tensors was found in this checkpoint");
  }
  folded.note(file.notes, "of more than 8 dimensions: the last ones are shown as their product");
  unknown.note(file.notes, "of a dtype that this version does not know: their bytes are counted");
  if (const auto left = std::ranges::count(counted, false); left > 0) {
    file.notes.push_back(
        std::to_string(left) +
        " further tensor(s), of an optimizer, an average or an object, not counted");
  }
}

}  // namespace genscope::inspect

#include "advise/fact_names.h"

#include <algorithm>
#include <vector>

#include "base/suggest.h"

namespace genscope::advice {
namespace {

constexpr std::size_t kMaxSuggestBytes = 64;  // the cost is a product of lengths

// Rows in the order of their names.
const std::vector<const FactName*>& by_name() {
  static const std::vector<const FactName*> kSorted = [] {
    std::vector<const FactName*> rows;
    for (const FactName& row : kFacts) rows.push_back(&row);
    std::sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->name < b->name; });
    return rows;
  }();
  return kSorted;
}

// "stage_groups.exclusive_share[x]" -> "stage_groups.exclusive_share[]" and "x"; a plain name
// stays, with no key.
struct Split {
  std::string row;
  std::string_view key;
  bool keyed;
};

Split split(std::string_view fact) {
  const std::size_t open = fact.find('[');
  if (open == std::string_view::npos || !fact.ends_with(']')) return {std::string(fact), {}, false};
  return {std::string(fact.substr(0, open)) + "[]", fact.substr(open + 1, fact.size() - open - 2),
          true};
}

}  // namespace

std::string_view name(FactType type) noexcept {
  switch (type) {
    case FactType::number:
      return "a number";
    case FactType::flag:
      return "a flag";
    case FactType::text:
      break;
  }
  return "a text";
}

std::string_view name(FactSource source) noexcept {
  switch (source) {
    case FactSource::field:
      return "the run";
    case FactSource::hooks:
      return "hooks";
    case FactSource::program:
      break;
  }
  return "the program";
}

std::span<const FactName> all_facts() noexcept { return kFacts; }

const FactName* find_fact(std::string_view fact) noexcept {
  const Split parts = split(fact);
  if (parts.keyed && parts.key.empty()) return nullptr;
  const auto& rows = by_name();
  const auto row =
      std::lower_bound(rows.begin(), rows.end(), std::string_view(parts.row),
                       [](const FactName* a, std::string_view b) { return a->name < b; });
  return row != rows.end() && (*row)->name == parts.row ? *row : nullptr;
}

std::string nearest_fact(std::string_view fact) {
  const Split parts = split(fact);
  if (parts.row.size() > kMaxSuggestBytes) return {};
  std::vector<std::string> known;
  for (const FactName& row : kFacts) known.emplace_back(row.name);
  std::string best = base::nearest(parts.row, known);
  if (!best.ends_with("[]")) return best;
  best.insert(best.size() - 1, parts.key.empty() ? "KEY" : parts.key);
  return best;
}

}  // namespace genscope::advice

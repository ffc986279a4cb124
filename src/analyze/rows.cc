// The first pass numbers the rows, those of steps first; after that a span's row is two loads.
// fold() keeps the kMaxNamedRows of a kind with the most self time, by nth_element, adds the others
// up in one row where the first of them stood, and renumbers. The order of the rows stays, so that
// steps still come first.
#include "analyze/rows.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include <genscope/analyze.h>

#include "analyze/row_sums.h"

namespace genscope::analysis {
namespace {

constexpr std::size_t kSpanKinds = 256;

void add_to_others(RowSums& others, const RowSums& one) {
  others.count += one.count;
  others.long_count += one.long_count;
  others.failed += one.failed;
  others.unfinished += one.unfinished;
  others.sum_ns = add(others.sum_ns, one.sum_ns);
  others.min_ns = std::min(others.min_ns, one.min_ns);
  others.max_ns = std::max(others.max_ns, one.max_ns);
  others.total_ns = add(others.total_ns, one.total_ns);
  others.self_ns = add(others.self_ns, std::max<std::int64_t>(one.self_ns, 0));
}

}  // namespace

bool holds_stages(SpanKind kind) noexcept {
  switch (kind) {
    case SpanKind::load:
    case SpanKind::stage:
    case SpanKind::block:
    case SpanKind::request:
    case SpanKind::batch:
    case SpanKind::epoch:
      return true;
    default:
      return false;
  }
}

RowTable::RowTable(const Run& run) : of_name_(run.traces.size()) {
  std::array<std::unordered_map<std::string_view, std::uint32_t>, kSpanKinds> known;
  for (const bool steps : {true, false}) {
    for (std::size_t t = 0; t < run.traces.size(); ++t) {
      const std::vector<Name>& names = run.traces[t].names;
      of_name_[t].resize(names.size());
      for (std::size_t n = 0; n < names.size(); ++n) {
        const Name& name = names[n];
        if ((name.kind == SpanKind::step) != steps) continue;
        const auto next = static_cast<std::uint32_t>(keys_.size());
        const auto [at, is_new] =
            known[static_cast<std::uint8_t>(name.kind)].try_emplace(name.text, next);
        if (is_new) keys_.push_back({name.text, name.kind});
        of_name_[t][n] = at->second;
      }
    }
    if (steps) step_rows_ = keys_.size();
  }
}

void RowTable::fold(std::vector<RowSums>& sums) {
  std::array<std::vector<std::uint32_t>, kSpanKinds> of_kind;
  for (std::uint32_t row = 0; row < keys_.size(); ++row) {
    if (sums[row].count + sums[row].unfinished == 0) continue;  // a name of something else
    of_kind[static_cast<std::uint8_t>(keys_[row].kind)].push_back(row);
  }
  std::vector<bool> folds(keys_.size());
  bool any = false;
  for (std::vector<std::uint32_t>& rows : of_kind) {
    if (rows.size() <= kMaxNamedRows) continue;
    any = true;
    const auto place = [&](std::uint32_t row) {
      return std::tuple(-sums[row].self_ns, -sums[row].total_ns, keys_[row].name);
    };
    const auto rest = rows.begin() + static_cast<std::ptrdiff_t>(kMaxNamedRows);
    std::nth_element(rows.begin(), rest, rows.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });
    for (auto row = rest; row != rows.end(); ++row) folds[*row] = true;
  }
  if (!any) return;

  constexpr std::uint32_t kNoRow = 0xFFFFFFFF;
  std::array<std::uint32_t, kSpanKinds> others;
  others.fill(kNoRow);
  std::vector<std::uint32_t> moved(keys_.size());
  std::vector<Key> keys;
  std::vector<RowSums> kept;
  std::size_t steps = 0;
  for (std::size_t row = 0; row < keys_.size(); ++row) {
    std::uint32_t& shared = others[static_cast<std::uint8_t>(keys_[row].kind)];
    const auto next = static_cast<std::uint32_t>(keys.size());
    if (folds[row] && shared != kNoRow) {
      moved[row] = shared;
    } else {
      moved[row] = next;
      keys.push_back(folds[row] ? Key{kOthers, keys_[row].kind, 0} : keys_[row]);
      kept.push_back(folds[row] ? RowSums() : sums[row]);
      if (row < step_rows_) ++steps;
    }
    if (!folds[row]) continue;
    shared = moved[row];
    add_to_others(kept[shared], sums[row]);
    ++keys[shared].folded;
  }
  for (std::vector<std::uint32_t>& names : of_name_) {
    for (std::uint32_t& row : names) row = moved[row];
  }
  keys_ = std::move(keys);
  sums = std::move(kept);
  step_rows_ = steps;
}

}  // namespace genscope::analysis

#include "analyze/aggregate/across.h"

#include <algorithm>
#include <cmath>

namespace genscope::analysis {

void AcrossTable::add(std::string_view name, std::uint32_t rank, double value) {
  if (!std::isfinite(value)) return;
  auto it = columns_.find(name);
  if (it == columns_.end()) {
    if (columns_.size() >= max_names_) {
      ++left_out_;
      return;
    }
    it = columns_.try_emplace(std::string(name)).first;
  }
  Column& column = it->second;
  const Value added{value, rank};
  if (column.many.count() == 0 && column.values.size() < kExactRanks) {
    column.values.push_back(added);
    return;
  }
  const auto fold = [&](const Value& v) {
    if (column.many.count() == 0) column.min = column.max = v;
    if (v.value < column.min.value) column.min = v;
    if (v.value > column.max.value) column.max = v;
    column.many.add(v.value);
  };
  for (const Value& v : column.values) fold(v);
  column.values = {};
  fold(added);
}

AcrossRanks AcrossTable::exact(const Column& column,
                               const std::function<bool(std::uint32_t)>& counts,
                               const std::function<std::string(std::uint32_t)>& label) {
  AcrossRanks row;
  std::vector<double> values;
  const Value *least = nullptr, *most = nullptr;
  for (const Value& v : column.values) {
    if (!counts(v.rank)) continue;
    values.push_back(v.value);
    if (least == nullptr || v.value < least->value) least = &v;
    if (most == nullptr || v.value > most->value) most = &v;
  }
  row.ranks = values.size();
  if (values.empty()) return row;
  row.min = least->value;
  row.max = most->value;
  row.min_rank = label(least->rank);
  row.max_rank = label(most->rank);
  const stats::Description all = stats::describe(values);
  row.median = all.median.value_or(0);
  row.mean = all.mean.value_or(0);
  return row;
}

std::vector<AcrossRanks> AcrossTable::rows(
    const std::function<bool(std::uint32_t)>& counts,
    const std::function<std::string(std::uint32_t)>& label) const {
  std::vector<AcrossRanks> out;
  for (const auto& [name, column] : columns_) {
    AcrossRanks row;
    if (column.many.count() == 0) {
      row = exact(column, counts, label);
    } else {
      row.exact = false;
      row.ranks = column.many.count();
      row.min = column.min.value;
      row.max = column.max.value;
      row.min_rank = label(column.min.rank);
      row.max_rank = label(column.max.rank);
      row.median = column.many.quantile(0.5).value_or(0);
      row.mean = column.many.mean().value_or(0);
    }
    if (row.ranks == 0) continue;
    row.name = name;
    if (row.median != 0) row.skew = row.max / row.median;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace genscope::analysis

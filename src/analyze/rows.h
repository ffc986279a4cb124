// RowTable: which row of the stage table a span belongs to, decided once per name. fold() bounds
// the rows: what comes after it costs as much for a million names as for a thousand.
//
// Rows are numbered so that those of kind step come first: what is grouped by row then holds all
// steps of the run in one stretch.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <genscope/trace.h>

namespace genscope::analysis {

struct RowSums;

// Spans that are told apart by what they used and by what lies in them: stages and what is like
// one.
bool holds_stages(SpanKind kind) noexcept;

class RowTable {
 public:
  // Keeps views of the names of `run`.
  explicit RowTable(const Run& run);

  struct Key {
    std::string_view name;
    SpanKind kind = SpanKind::none;
    std::uint64_t folded = 0;  // names that share this row, if it is the row kOthers
  };

  // Keeps of each kind the kMaxNamedRows rows with the most self time; the others of that kind
  // become one. `sums`, an entry per row, follows.
  void fold(std::vector<RowSums>& sums);

  std::size_t size() const noexcept { return keys_.size(); }
  // Rows below this number are of kind step, the others are not.
  std::size_t step_rows() const noexcept { return step_rows_; }
  const Key& key(std::size_t row) const noexcept { return keys_[row]; }
  // For each name of a trace its row.
  const std::vector<std::uint32_t>& rows_of(std::size_t trace) const noexcept {
    return of_name_[trace];
  }

 private:
  std::vector<Key> keys_;
  std::size_t step_rows_ = 0;
  std::vector<std::vector<std::uint32_t>> of_name_;
};

}  // namespace genscope::analysis

// In which order the rows of an imported file become tracks, and what they are called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/import/raw_trace.h"

namespace genscope::store {

struct OrderedRow {
  std::uint32_t row = 0;
  std::uint32_t tid = 0;  // 0: no thread
  std::string name;
};

struct RowOrder {
  std::vector<OrderedRow> rows;
  std::uint32_t main_pid = 0;  // of the process with the most spans; 0 if it is no number
};

// Threads of the main process first, then those of others, by the file's sort indices, then the
// other classes. A device's rows come after those that launch, so that parents come first.
RowOrder order_rows(const RawTrace& raw);

}  // namespace genscope::store

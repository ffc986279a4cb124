// What a program says of its own operations in arguments of their spans (memory before and after,
// at most), beside what was measured of them: for texts that list operations one by one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <genscope/analyze.h>

namespace genscope::analysis {

// A row of Analysis::stages that is a stage or a load.
struct Operation {
  const StageRow* stage = nullptr;
  std::int64_t first_ns = 0;  // its earliest begin, on the first process's scale
  // Sums over its spans, and the largest: as the program says.
  std::optional<double> cpu_delta_bytes, gpu_delta_bytes, gpu_peak_bytes;
};
struct Operations {
  std::vector<Operation> rows;    // in the order of their first begins; into `analysis`
  std::int64_t outermost_ns = 0;  // of those spans that lie in no other of them
};
// Linear in the spans.
Operations operations_of(const Run& run, const Analysis& analysis);

// The batches of an epoch, or those of a process that lie in none.
struct Batches {
  struct Batch {
    double index = 0;  // as the program says, else counted from 0
    std::int64_t duration_ns = 0;
    std::optional<double> gpu_bytes, cpu_bytes, loss;
  };
  std::vector<Batch> first;  // the first so many
  std::uint64_t count = 0;
  std::int64_t total_ns = 0, min_ns = 0, max_ns = 0;
  // Of the epoch; absent: there is none.
  std::optional<std::int64_t> epoch_ns;
  std::optional<double> gpu_bytes, gpu_reserved_bytes, gpu_peak_bytes;
};
// Epoch by epoch, then what is in none; process by process. Linear in the spans.
std::vector<Batches> batches_of(const Run& run, std::size_t first);

}  // namespace genscope::analysis

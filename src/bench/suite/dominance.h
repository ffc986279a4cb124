// Cells that need at least as much memory as one that ran out of it.
#pragma once

#include <string>
#include <vector>

#include "bench/suite/fields.h"
#include "bench/suite/suite.h"

namespace genscope::bench {

class OomMemory {
 public:
  // `path`: where they are remembered; empty: only for this run. `environment`: the class of the
  // machine; what ran out on another one, or with another command, is not held against a cell.
  OomMemory(const Suite& suite, std::string path, std::string environment);

  // Why the cell is not worth a try; empty: it is.
  std::string dominated(const Params& params) const;
  // It ran out of memory: for this run, and for later ones.
  void note(const Cell& cell);
  Status remember(const Cell& cell);

 private:
  struct Known {
    std::string id, when;      // `when` empty: in this run
    std::vector<double> size;  // of the dominance fields
  };
  std::vector<double> size_of(const Params& params) const;

  const Suite& suite_;
  MatrixFields fields_;
  std::string path_, environment_;
  std::vector<Known> known_;
};

bool is_oom(const Cell& cell) noexcept;

}  // namespace genscope::bench

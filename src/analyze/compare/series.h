// StepNames: which series a step belongs to. Steps of two pipelines, of two loops or of two shapes
// are different work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <genscope/trace.h>

#include "analyze/compare/shapes.h"
#include "analyze/generation/step_series.h"

namespace genscope::analysis {

class StepNames {
 public:
  // With more pipelines or loops than this, their names are those of single requests and the like:
  // then only the shape tells steps apart.
  static constexpr std::size_t kMostNames = 8;

  // Linear in the steps; 4 bytes each, and 16 more while it works.
  StepNames(const Run& run, const Shapes& shapes, const StepSeries& series);

  // Of series.steps[step]: "denoise of FluxPipeline (width 512)". Steps that were told as events
  // have no name.
  const std::string& of(std::size_t step) const { return texts_[name_of_[step]]; }

 private:
  std::vector<std::uint32_t> name_of_;
  std::vector<std::string> texts_;
};

}  // namespace genscope::analysis

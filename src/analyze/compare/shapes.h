// Shapes: in a run that mixes sizes, batches or models, which of them a span belongs to. A step of
// 512 x 512 and one of 1024 x 1024 are two series: their common median means nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <genscope/trace.h>

namespace genscope::analysis {

class Shapes {
 public:
  // A key with more values than this varies freely, as the tokens of an answer do: no series.
  static constexpr std::size_t kMostValues = 16;

  explicit Shapes(const Run& run);

  // Whether the run has more than one. If not, all texts are empty.
  bool mixed() const noexcept { return !of_span_.empty(); }
  // "width 512, height 512": what the run mixes, of this span; empty if it does not say.
  const std::string& text(std::size_t trace, std::size_t span) const {
    return texts_[mixed() ? of_span_[trace][span] : 0];
  }
  std::uint32_t id(std::size_t trace, std::size_t span) const {
    return mixed() ? of_span_[trace][span] : 0;
  }
  const std::string& text_of(std::uint32_t id) const { return texts_[id]; }

 private:
  std::vector<std::string> texts_ = {""};
  std::vector<std::vector<std::uint32_t>> of_span_;  // per trace and span; 4 bytes a span
};

}  // namespace genscope::analysis

// The histograms of one queue. Bounded: after `kMostRows` sets of labels, others share a row whose
// last label is "other". Not for several threads at once.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/internal/optimize/queue_times.h>

namespace genscope::optimize {

class QueueBook {
 public:
  static constexpr std::size_t kMostRows = 64;

  // `names`: of the labels, one or two.
  explicit QueueBook(std::vector<std::string> names) : names_(std::move(names)) {}

  // The row of these values, which stays where it is. `first` is from a set that its owner bounds;
  // only `second` (or `first`, where it is alone) is replaced by "other". An empty value is no
  // label.
  QueueHistogram& row(std::string_view first, std::string_view second = {});
  std::vector<QueueTimes> rows() const;

 private:
  std::vector<std::string> names_;
  std::map<std::pair<std::string, std::string>, QueueTimes*, std::less<>> by_value_;
  std::deque<QueueTimes> rows_;
};

}  // namespace genscope::optimize

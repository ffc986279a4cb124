// Trail: the last values of a series, drawn as a sparkline.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace genscope::watch {

class Trail {
 public:
  static constexpr std::size_t kCapacity = 64;

  void push(std::optional<double> value);  // nothing: not known then, drawn as a blank
  // The last `width` values, newest at the right, against `full` or, if that is 0, the largest.
  std::string draw(std::size_t width, double full, bool unicode) const;
  std::size_t size() const { return size_; }

 private:
  std::optional<double> from_newest(std::size_t age) const;

  std::array<std::optional<double>, kCapacity> values_;
  std::size_t size_ = 0;
  std::size_t next_ = 0;
};

// By entity id and metric.
using Trails = std::map<std::string, Trail>;

}  // namespace genscope::watch

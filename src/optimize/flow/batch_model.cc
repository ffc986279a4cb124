// Five sums, each scaled by `keep` before a sample is added: weighted least squares in constant
// time and memory, for a device whose speed may change.
//
// A negative cost for a batch or for an item makes no sense and comes from noise: then the line
// goes through the origin, or is flat.
#include <algorithm>

#include <genscope/optimize/batch.h>

#include "optimize/flow/batch_model.h"

namespace genscope::optimize {

void BatchModel::add(double cost, double seconds) noexcept {
  if (!(cost > 0) || !(seconds >= 0)) return;
  w_ = w_ * keep_ + 1;
  x_ = x_ * keep_ + cost;
  xx_ = xx_ * keep_ + cost * cost;
  y_ = y_ * keep_ + seconds;
  xy_ = xy_ * keep_ + cost * seconds;
  ++count_;
}

bool BatchModel::line(double& a, double& c) const noexcept {
  const double spread = w_ * xx_ - x_ * x_;
  if (count_ < 2 || !(spread > 1e-6 * w_ * xx_)) return false;
  c = (w_ * xy_ - x_ * y_) / spread;
  a = (y_ - c * x_) / w_;
  if (c < 0) {
    c = 0;
    a = y_ / w_;
  } else if (a < 0) {
    a = 0;
    c = xy_ / xx_;
  }
  return true;
}

std::optional<double> BatchModel::seconds(double cost) const noexcept {
  double a = 0, c = 0;
  if (line(a, c)) return a + c * cost;
  if (count_ == 0) return std::nullopt;
  const double mean = x_ / w_;
  if (cost < mean * 0.999 || cost > mean * 1.001) return std::nullopt;
  return y_ / w_;
}

std::optional<double> BatchModel::gain(std::size_t b, double unit) const noexcept {
  double a = 0, c = 0;
  if (!line(a, c)) return std::nullopt;
  const double n = static_cast<double>(b), together = a + c * n * unit;
  if (!(together > 0)) return std::nullopt;
  return n * (a + c * unit) / together;
}

std::string CompatKey::text() const {
  const auto up = [this](int size) {
    const int step = std::max(1, bucket);
    return std::to_string((size + step - 1) / step * step);
  };
  std::vector<std::string> sorted = loras;
  std::sort(sorted.begin(), sorted.end());
  std::string out = model + '|' + component + '|' + up(width) + 'x' + up(height) + 'x' +
                    std::to_string(frames) + '|' + dtype + '|' + (guidance ? "cfg" : "no cfg") +
                    '|' + std::to_string(outputs);
  for (const std::string& lora : sorted) out += '|' + lora;
  return out;
}

}  // namespace genscope::optimize

// UNets, level by level: residual blocks, transformers over the pixels of a level, and convolutions
// between levels. What the way down leaves is joined on the way up.
#include <cmath>
#include <vector>

#include "inspect/cost/blocks.h"
#include "inspect/cost/denoiser.h"

namespace genscope::inspect {
namespace {

constexpr double kConvTaps = 9;  // 3x3

struct Level {
  double multiple;  // of the first level's channels
  double depth;     // transformer blocks of each transformer, 0: none
};

// Which UNet it is shows in the width of the text it takes.
std::vector<Level> levels_of(const Dimensions& dims) {
  if (dims.text_width == 2048) return {{1, 0}, {2, 2}, {4, 10}};         // SDXL
  if (dims.text_width == 1280) return {{1, 0}, {2, 4}, {4, 4}, {4, 0}};  // its refiner
  return {{1, 1}, {2, 1}, {4, 1}, {4, 0}};                               // SD 1, SD 2
}

struct Grid {
  double width, height;
  double pixels() const { return width * height; }
  Grid half() const { return {std::ceil(width / 2), std::ceil(height / 2)}; }
};

class Unet {
 public:
  Unet(const Dimensions& dims, const Extent& e)
      : levels_(levels_of(dims)),
        base_(static_cast<double>(dims.width)),
        context_(static_cast<double>(dims.text_width)),
        text_(e.text),
        time_(4 * base_),
        grid_{e.width, e.height} {
    sum_ += matmul(1, base_, time_) + matmul(1, time_, time_);
    if (dims.pooled_width > 0) {
      sum_ += matmul(1, static_cast<double>(dims.pooled_width), time_) + matmul(1, time_, time_);
    }
    convolve(static_cast<double>(dims.in_channels), base_);
    down();
    middle();
    up();
    convolve(base_, static_cast<double>(dims.out_channels));
  }

  const Work& sum() const { return sum_; }

 private:
  struct Skip {
    double channels;
    Grid grid;
  };

  void convolve(double in, double out) {
    sum_ += conv(grid_.pixels(), grid_.pixels(), in, out, kConvTaps);
  }

  void residual(double in, double out) {
    convolve(in, out);
    convolve(out, out);
    sum_ += matmul(1, time_, out);
    if (in != out) sum_ += matmul(grid_.pixels(), in, out);
  }

  void transformer(double channels, double depth) {
    if (depth <= 0) return;
    const double n = grid_.pixels();
    const Work block = projections(n, channels) + attend(n, n, channels) +
                       matmul(n, channels, channels) + matmul(text_, context_, 2 * channels) +
                       attend(n, text_, channels) + matmul(n, channels, channels) +
                       gated_mlp(n, channels, 4 * channels);
    sum_ += 2 * matmul(n, channels, channels) + depth * block;
  }

  void down() {
    double channels = base_;
    skips_.push_back({channels, grid_});
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const double out = base_ * levels_[i].multiple;
      for (int block = 0; block < 2; ++block) {
        residual(channels, out);
        transformer(out, levels_[i].depth);
        channels = out;
        skips_.push_back({channels, grid_});
      }
      if (i + 1 == levels_.size()) break;
      const Grid half = grid_.half();
      sum_ += conv(grid_.pixels(), half.pixels(), channels, channels, kConvTaps);
      grid_ = half;
      skips_.push_back({channels, grid_});
    }
  }

  void middle() {
    const double channels = base_ * levels_.back().multiple;
    double depth = 0;  // that of the last level that has any
    for (const Level& level : levels_) depth = level.depth > 0 ? level.depth : depth;
    residual(channels, channels);
    transformer(channels, depth);
    residual(channels, channels);
  }

  void up() {
    double channels = base_ * levels_.back().multiple;
    for (std::size_t i = levels_.size(); i-- > 0;) {
      const double out = base_ * levels_[i].multiple;
      for (int block = 0; block < 3; ++block) {
        residual(channels + skips_.back().channels, out);
        skips_.pop_back();
        transformer(out, levels_[i].depth);
        channels = out;
      }
      if (i == 0) break;
      const Grid small = grid_;
      grid_ = skips_.back().grid;
      sum_ += conv(small.pixels(), grid_.pixels(), channels, channels, kConvTaps);
    }
  }

  std::vector<Level> levels_;
  double base_, context_, text_, time_;
  Grid grid_;
  std::vector<Skip> skips_;
  Work sum_;
};

}  // namespace

Work unet_work(const Dimensions& dimensions, const Extent& extent) {
  return Unet(dimensions, extent).sum();
}

}  // namespace genscope::inspect

// The two shapes of data in tinydiff. Tokens and pixels share one layout, rows of channels, so
// that linear layers, convolutions and attention hand their results to one another uncopied.
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace tinydiff {

using Index = Eigen::Index;

// rows x channels, row-major. Storage is uninitialised after construction by size.
using Tensor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;
using View = Eigen::Map<Tensor, Eigen::Unaligned, Stride>;
using ConstView = Eigen::Map<const Tensor, Eigen::Unaligned, Stride>;

inline float* row_of(Tensor& t, Index row) { return t.data() + row * t.cols(); }
inline const float* row_of(const Tensor& t, Index row) { return t.data() + row * t.cols(); }

// A rectangle of `t`, without a copy. The tensor must outlive the view.
inline View view_of(Tensor& t, Index row, Index col, Index rows, Index cols) {
  return {row_of(t, row) + col, rows, cols, Stride(t.cols())};
}
inline ConstView view_of(const Tensor& t, Index row, Index col, Index rows, Index cols) {
  return {row_of(t, row) + col, rows, cols, Stride(t.cols())};
}

// `count` pictures of height x width pixels. Row (n * height + y) * width + x of `data` holds the
// channels of one pixel.
struct Images {
  Index count = 0;
  Index height = 0;
  Index width = 0;
  Tensor data;

  Images() = default;
  Images(Index n, Index h, Index w, Index channels)
      : count(n), height(h), width(w), data(n * h * w, channels) {}

  Index pixels() const { return height * width; }
  Index channels() const { return data.cols(); }
};

// What the denoiser works on: `batch` independent sequences of `frames` pictures each. Picture
// b * frames + f of `images` is frame f of sequence b; a still image is a sequence of one frame.
struct Latents {
  Index batch = 0;
  Index frames = 0;
  Images images;
};

// Channels of a latent pixel, and image pixels along each side of one.
inline constexpr Index kLatentChannels = 8;
inline constexpr Index kLatentScale = 8;

}  // namespace tinydiff

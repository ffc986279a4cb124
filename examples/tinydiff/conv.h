// Layers that act on pictures: convolution as im2col and matrix product, group norm, resampling.
#pragma once

#include "pool.h"
#include "rng.h"
#include "tensor.h"

namespace tinydiff {

// A square kernel; the picture is continued by kernel / 2 copies of its edge pixels, and the output
// has ceil(size / stride) pixels. Zeros around the picture would paint a frame into it.
struct Conv {
  Index in = 0;
  Index out = 0;
  Index kernel = 0;
  Index stride = 1;
  Tensor weight;  // (ky * kernel + kx) * in + channel, x out
  Tensor bias;    // 1 x out

  // Taps of a 3x3 kernel are weighted like a binomial filter. A trained network of this kind has
  // low-pass kernels; an unweighted random one would paint noise instead of shapes.
  Conv(WeightSource& source, Index in_channels, Index out_channels, Index kernel_size,
       Index stride_pixels = 1, double gain = 1.0);
};
Images conv2d(Pool& pool, const Conv& layer, const Images& x);

// Each picture's channels, in `groups` equal runs, brought to mean 0 and deviation 1, scaled and
// shifted per channel, then passed through SiLU if asked.
struct GroupNorm {
  Index groups = 0;
  Tensor scale;  // 1 x channels
  Tensor shift;  // 1 x channels

  GroupNorm(WeightSource& source, Index channels, Index group_count);
};
Images group_norm(Pool& pool, const GroupNorm& layer, const Images& x, bool with_silu);

// Bilinear, pixel centers aligned; any target size.
Images resize(Pool& pool, const Images& x, Index height, Index width);

// The channels of `a`, then those of `b`; both of the same count and size.
Images concat_channels(const Images& a, const Images& b);

}  // namespace tinydiff

#include "conv.h"

#include <genscope/record.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "layers.h"

namespace tinydiff {
namespace {

// Output pixels per tile: bounds the unfolded input to kPixelTile * kernel^2 * in values per
// thread.
constexpr Index kPixelTile = 128;
// Below this many pixel tiles the output channels are cut too, so that deep, small layers spread
// over threads. A function of the shape alone: see pool.h.
constexpr Index kFewTiles = 6;
constexpr Index kChannelTile = 64;
constexpr double kEpsilon = 1e-5;

// Copies the neighbourhoods of output pixels [first, first + patches.rows()) into rows of
// `patches`.
void unfold(const Conv& layer, const Images& x, Index out_height, Index out_width, Index first,
            Tensor& patches) {
  const Index pad = layer.kernel / 2;
  for (Index i = 0; i < patches.rows(); ++i) {
    const Index pixel = first + i;
    const Index out_x = pixel % out_width;
    const Index out_y = pixel / out_width % out_height;
    const Index picture = pixel / out_width / out_height;
    float* target = row_of(patches, i);
    for (Index ky = 0; ky < layer.kernel; ++ky) {
      const Index y = std::clamp<Index>(out_y * layer.stride + ky - pad, 0, x.height - 1);
      for (Index kx = 0; kx < layer.kernel; ++kx, target += layer.in) {
        const Index column = std::clamp<Index>(out_x * layer.stride + kx - pad, 0, x.width - 1);
        const Index row = (picture * x.height + y) * x.width + column;
        std::copy_n(row_of(x.data, row), layer.in, target);
      }
    }
  }
}

}  // namespace

Conv::Conv(WeightSource& source, Index in_channels, Index out_channels, Index kernel_size,
           Index stride_pixels, double gain)
    : in(in_channels), out(out_channels), kernel(kernel_size), stride(stride_pixels) {
  const Index taps = kernel * kernel;
  weight = source.matrix(taps * in, out, gain / std::sqrt(static_cast<double>(in)));
  bias = source.matrix(1, out, 0.02);
  if (kernel != 3) return;
  constexpr float kBinomial[3] = {0.25F, 0.5F, 0.25F};
  // The root of the sum of the squared tap weights is 0.375; dividing by it keeps the deviation.
  for (Index tap = 0; tap < taps; ++tap) {
    const float tap_weight = kBinomial[tap / 3] * kBinomial[tap % 3] / 0.375F;
    weight.middleRows(tap * in, in) *= tap_weight;
  }
}

Images conv2d(Pool& pool, const Conv& layer, const Images& x) {
  GENSCOPE_SPAN("conv");
  const Index height = (x.height + layer.stride - 1) / layer.stride;
  const Index width = (x.width + layer.stride - 1) / layer.stride;
  Images y(x.count, height, width, layer.out);
  const Index pixels = y.data.rows();
  const Index depth = layer.weight.rows();
  const Index pixel_tiles = tiles_for(pixels, kPixelTile);
  const Index channel_tile = pixel_tiles < kFewTiles ? kChannelTile : layer.out;
  const Index channel_tiles = tiles_for(layer.out, channel_tile);
  pool.run(pixel_tiles * channel_tiles, [&](Tiles& tiles) {
    GENSCOPE_TASK("conv_tiles");
    Tensor patches;
    Index unfolded = -1;  // the first pixel now in `patches`
    for (Index tile = tiles.take(); tile >= 0; tile = tiles.take()) {
      const Index first = tile / channel_tiles * kPixelTile;
      const Index col = tile % channel_tiles * channel_tile;
      const Index rows = std::min(kPixelTile, pixels - first);
      const Index cols = std::min(channel_tile, layer.out - col);
      if (unfolded != first) {
        patches.resize(rows, depth);
        unfold(layer, x, height, width, first, patches);
        unfolded = first;
      }
      View target = view_of(y.data, first, col, rows, cols);
      target = layer.bias.middleCols(col, cols).replicate(rows, 1);
      target.noalias() += patches * view_of(layer.weight, 0, col, depth, cols);
    }
  });
  return y;
}

GroupNorm::GroupNorm(WeightSource& source, Index channels, Index group_count)
    : groups(group_count),
      scale(source.constant(1, channels, 1.0F)),
      shift(source.constant(1, channels, 0.0F)) {}

Images group_norm(Pool& pool, const GroupNorm& layer, const Images& x, bool with_silu) {
  GENSCOPE_SPAN("group_norm");
  const Index channels = x.channels();
  const Index group_size = channels / layer.groups;
  const Index pixels = x.pixels();
  const Index tile_rows = std::max<Index>(1, 16384 / channels);
  const Index tiles_per_picture = tiles_for(pixels, tile_rows);
  const Index tile_count = tiles_per_picture * x.count;

  // Sums per tile and channel, added up in the order of the tiles afterwards.
  std::vector<double> sums(static_cast<std::size_t>(tile_count * channels * 2), 0.0);
  const auto rows_of_tile = [&](Index tile) {
    const Index begin = tile % tiles_per_picture * tile_rows;
    const Index base = tile / tiles_per_picture * pixels;
    return std::pair(base + begin, base + std::min(pixels, begin + tile_rows));
  };
  pool.run(tile_count, [&](Tiles& tiles) {
    GENSCOPE_TASK("group_norm_statistics");
    for (Index tile = tiles.take(); tile >= 0; tile = tiles.take()) {
      double* const sum = sums.data() + tile * channels * 2;
      double* const squares = sum + channels;
      const auto [first, last] = rows_of_tile(tile);
      for (Index row = first; row < last; ++row) {
        const float* const in = row_of(x.data, row);
        for (Index c = 0; c < channels; ++c) {
          const double value = in[c];
          sum[c] += value;
          squares[c] += value * value;
        }
      }
    }
  });

  Tensor factors(x.count, channels);
  Tensor offsets(x.count, channels);
  const double samples = static_cast<double>(pixels * group_size);
  for (Index picture = 0; picture < x.count; ++picture) {
    for (Index group = 0; group < layer.groups; ++group) {
      double sum = 0.0;
      double squares = 0.0;
      for (Index part = 0; part < tiles_per_picture; ++part) {
        const double* const tile =
            sums.data() + (picture * tiles_per_picture + part) * channels * 2;
        for (Index c = group * group_size; c < (group + 1) * group_size; ++c) {
          sum += tile[c];
          squares += tile[channels + c];
        }
      }
      const double mean = sum / samples;
      const double variance = std::max(0.0, squares / samples - mean * mean);
      const double inverse = 1.0 / std::sqrt(variance + kEpsilon);
      for (Index c = group * group_size; c < (group + 1) * group_size; ++c) {
        const double factor = inverse * layer.scale(0, c);
        factors(picture, c) = static_cast<float>(factor);
        offsets(picture, c) = static_cast<float>(layer.shift(0, c) - mean * factor);
      }
    }
  }

  Images y(x.count, x.height, x.width, channels);
  pool.run(tile_count, [&](Tiles& tiles) {
    GENSCOPE_TASK("group_norm_apply");
    for (Index tile = tiles.take(); tile >= 0; tile = tiles.take()) {
      const float* const factor = row_of(factors, tile / tiles_per_picture);
      const float* const offset = row_of(offsets, tile / tiles_per_picture);
      const auto [first, last] = rows_of_tile(tile);
      for (Index row = first; row < last; ++row) {
        const float* const in = row_of(x.data, row);
        float* const out = row_of(y.data, row);
        for (Index c = 0; c < channels; ++c) out[c] = in[c] * factor[c] + offset[c];
        if (!with_silu) continue;
        for (Index c = 0; c < channels; ++c) out[c] = silu(out[c]);
      }
    }
  });
  return y;
}

Images resize(Pool& pool, const Images& x, Index height, Index width) {
  GENSCOPE_SPAN("resize");
  Images y(x.count, height, width, x.channels());
  const Index channels = x.channels();
  const float step_y = static_cast<float>(x.height) / static_cast<float>(height);
  const float step_x = static_cast<float>(x.width) / static_cast<float>(width);
  const auto source = [](Index target, float step, Index size) {
    const float position = (static_cast<float>(target) + 0.5F) * step - 0.5F;
    return std::clamp(position, 0.0F, static_cast<float>(size - 1));
  };
  pool.run(x.count * height, [&](Tiles& tiles) {
    GENSCOPE_TASK("resize_rows");
    for (Index tile = tiles.take(); tile >= 0; tile = tiles.take()) {
      const Index picture = tile / height;
      const float at_y = source(tile % height, step_y, x.height);
      const auto top = static_cast<Index>(at_y);
      const Index bottom = std::min(top + 1, x.height - 1);
      const float down = at_y - static_cast<float>(top);
      for (Index column = 0; column < width; ++column) {
        const float at_x = source(column, step_x, x.width);
        const auto left = static_cast<Index>(at_x);
        const Index right = std::min(left + 1, x.width - 1);
        const float across = at_x - static_cast<float>(left);
        const auto pixel = [&](Index row, Index col) {
          return row_of(x.data, (picture * x.height + row) * x.width + col);
        };
        const float* const a = pixel(top, left);
        const float* const b = pixel(top, right);
        const float* const c = pixel(bottom, left);
        const float* const d = pixel(bottom, right);
        float* const out = row_of(y.data, tile * width + column);
        for (Index i = 0; i < channels; ++i) {
          const float upper = a[i] + (b[i] - a[i]) * across;
          const float lower = c[i] + (d[i] - c[i]) * across;
          out[i] = upper + (lower - upper) * down;
        }
      }
    }
  });
  return y;
}

Images concat_channels(const Images& a, const Images& b) {
  Images y(a.count, a.height, a.width, a.channels() + b.channels());
  y.data.leftCols(a.channels()) = a.data;
  y.data.rightCols(b.channels()) = b.data;
  return y;
}

}  // namespace tinydiff

#include "layers.h"

#include <genscope/record.h>

#include <algorithm>
#include <cmath>

namespace tinydiff {
namespace {

// Output tiles of a matrix product. Part of the numerical contract: see pool.h.
constexpr Index kRowTile = 128;
constexpr Index kColTile = 128;
// Values per tile of an operation that reads each value once.
constexpr Index kElementwiseTile = 16384;
constexpr float kNormEpsilon = 1e-5F;

// Runs `body(first, last)` over ranges of rows of about kElementwiseTile values.
template <typename Body>
void for_rows(Pool& pool, Index rows, Index cols, const Body& body) {
  const Index tile_rows = std::max<Index>(1, kElementwiseTile / std::max<Index>(1, cols));
  pool.run(tiles_for(rows, tile_rows), [&](Tiles& tiles) {
    GENSCOPE_TASK("rowwise_tiles");
    for (Index tile = tiles.take(); tile >= 0; tile = tiles.take()) {
      const Index first = tile * tile_rows;
      body(first, std::min(rows, first + tile_rows));
    }
  });
}

template <typename Function>
void map_values(Pool& pool, Tensor& x, const Function& function) {
  for_rows(pool, x.rows(), x.cols(), [&](Index first, Index last) {
    float* const end = row_of(x, last);
    for (float* value = row_of(x, first); value != end; ++value) *value = function(*value);
  });
}

}  // namespace

Linear::Linear(WeightSource& source, Index in, Index out, double gain)
    : weight(source.matrix(in, out, gain / std::sqrt(static_cast<double>(in)))),
      bias(source.matrix(1, out, 0.02)) {}

Tensor linear(Pool& pool, const Linear& layer, const Tensor& x) {
  const Index out = layer.weight.cols();
  const Index depth = x.cols();
  Tensor y(x.rows(), out);
  const Index col_tiles = tiles_for(out, kColTile);
  pool.run(tiles_for(x.rows(), kRowTile) * col_tiles, [&](Tiles& tiles) {
    GENSCOPE_TASK("matmul_tiles");
    for (Index tile = tiles.take(); tile >= 0; tile = tiles.take()) {
      const Index row = tile / col_tiles * kRowTile;
      const Index col = tile % col_tiles * kColTile;
      const Index rows = std::min(kRowTile, x.rows() - row);
      const Index cols = std::min(kColTile, out - col);
      View target = view_of(y, row, col, rows, cols);
      target = layer.bias.middleCols(col, cols).replicate(rows, 1);
      target.noalias() +=
          view_of(x, row, 0, rows, depth) * view_of(layer.weight, 0, col, depth, cols);
    }
  });
  return y;
}

Tensor layer_norm(Pool& pool, const Tensor& x, const float* scale, const float* shift) {
  Tensor y(x.rows(), x.cols());
  const Index cols = x.cols();
  for_rows(pool, x.rows(), cols, [&](Index first, Index last) {
    for (Index row = first; row < last; ++row) {
      const float* const in = row_of(x, row);
      float* const out = row_of(y, row);
      double sum = 0.0;
      double squares = 0.0;
      for (Index c = 0; c < cols; ++c) {
        sum += in[c];
        squares += static_cast<double>(in[c]) * in[c];
      }
      const double mean = sum / static_cast<double>(cols);
      const double variance = std::max(0.0, squares / static_cast<double>(cols) - mean * mean);
      const auto center = static_cast<float>(mean);
      const auto inverse = static_cast<float>(1.0 / std::sqrt(variance + kNormEpsilon));
      for (Index c = 0; c < cols; ++c) out[c] = (in[c] - center) * inverse * scale[c] + shift[c];
    }
  });
  return y;
}

LayerNorm::LayerNorm(WeightSource& source, Index channels)
    : scale(source.constant(1, channels, 1.0F)), shift(source.constant(1, channels, 0.0F)) {}

Tensor layer_norm(Pool& pool, const LayerNorm& layer, const Tensor& x) {
  return layer_norm(pool, x, layer.scale.data(), layer.shift.data());
}

void rms_norm_heads(Pool& pool, Tensor& x, Index first, Index count, Index head_size) {
  for_rows(pool, x.rows(), count, [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      float* const values = row_of(x, row) + first;
      for (Index head = 0; head < count; head += head_size) {
        float squares = 0.0F;
        for (Index c = 0; c < head_size; ++c) squares += values[head + c] * values[head + c];
        const float inverse =
            1.0F / std::sqrt(squares / static_cast<float>(head_size) + kNormEpsilon);
        for (Index c = 0; c < head_size; ++c) values[head + c] *= inverse;
      }
    }
  });
}

void silu(Pool& pool, Tensor& x) {
  map_values(pool, x, [](float v) { return silu(v); });
}

void gelu(Pool& pool, Tensor& x) {
  // 0.5 v (1 + tanh(u)) equals v / (1 + exp(-2u)), which costs one exponential.
  map_values(pool, x, [](float v) {
    const float u = 0.7978845608F * (v + 0.044715F * v * v * v);
    return v / (1.0F + std::exp(-2.0F * u));
  });
}

void add_gated(Pool& pool, Tensor& x, const float* gate, const Tensor& y) {
  const Index cols = x.cols();
  for_rows(pool, x.rows(), cols, [&](Index first, Index last) {
    for (Index row = first; row < last; ++row) {
      float* const out = row_of(x, row);
      const float* const in = row_of(y, row);
      if (gate == nullptr) {
        for (Index c = 0; c < cols; ++c) out[c] += in[c];
      } else {
        for (Index c = 0; c < cols; ++c) out[c] += gate[c] * in[c];
      }
    }
  });
}

Tensor sinusoid(double position, Index channels, double period) {
  Tensor t(1, channels);
  const Index half = channels / 2;
  for (Index i = 0; i < channels; ++i) {
    const double exponent = static_cast<double>(i % half) / static_cast<double>(half);
    const double angle = position * std::pow(period, -exponent);
    t(0, i) = static_cast<float>(i < half ? std::sin(angle) : std::cos(angle));
  }
  return t;
}

}  // namespace tinydiff

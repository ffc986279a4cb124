#include "attention.h"

#include <genscope/record.h>

#include <algorithm>
#include <cmath>

namespace tinydiff {
namespace {

// Queries per tile: bounds the logits held at once to kQueryTile x keys per thread.
constexpr Index kQueryTile = 128;

}  // namespace

void softmax_rows(Tensor& x, float scale) {
  const Index cols = x.cols();
  for (Index row = 0; row < x.rows(); ++row) {
    float* const values = row_of(x, row);
    const float top = *std::max_element(values, values + cols);
    float sum = 0.0F;
    for (Index c = 0; c < cols; ++c) {
      values[c] = std::exp((values[c] - top) * scale);
      sum += values[c];
    }
    const float inverse = 1.0F / sum;
    for (Index c = 0; c < cols; ++c) values[c] *= inverse;
  }
}

Tensor attention(Pool& pool, const Tensor& q, const Tensor& k, const Tensor& v, Index batch,
                 Index heads) {
  const Index queries = q.rows() / batch;
  const Index keys = k.rows() / batch;
  const Index size = q.cols() / heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(size));
  const Index query_tiles = tiles_for(queries, kQueryTile);
  Tensor out(q.rows(), q.cols());
  pool.run(batch * heads * query_tiles, [&](Tiles& tiles) {
    GENSCOPE_TASK("attention_tiles");
    Tensor weights;
    for (Index tile = tiles.take(); tile >= 0; tile = tiles.take()) {
      const Index first = tile % query_tiles * kQueryTile;
      const Index head = tile / query_tiles % heads;
      const Index sequence = tile / query_tiles / heads;
      const Index rows = std::min(kQueryTile, queries - first);
      const Index row = sequence * queries + first;
      const Index key_row = sequence * keys;
      const Index col = head * size;
      weights.resize(rows, keys);
      weights.noalias() =
          view_of(q, row, col, rows, size) * view_of(k, key_row, col, keys, size).transpose();
      softmax_rows(weights, scale);
      View target = view_of(out, row, col, rows, size);
      target.noalias() = weights * view_of(v, key_row, col, keys, size);
    }
  });
  return out;
}

}  // namespace tinydiff

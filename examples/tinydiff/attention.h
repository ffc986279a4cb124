// Multi-head attention over sequences stored one after another in the rows of a tensor.
#pragma once

#include "pool.h"
#include "tensor.h"

namespace tinydiff {

// softmax(q k^T / sqrt(head size)) v for each of `batch` sequences and `heads` heads; heads are
// equal runs of channels. q has batch * n rows, k and v have batch * m rows; the result is like q.
Tensor attention(Pool& pool, const Tensor& q, const Tensor& k, const Tensor& v, Index batch,
                 Index heads);

// Each row becomes exp(x * scale) / sum, computed without overflow.
void softmax_rows(Tensor& x, float scale);

}  // namespace tinydiff

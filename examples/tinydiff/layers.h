// Layers that act on rows: linear maps, norms, activations, timestep embedding. All are pure
// functions of their arguments; the pool only decides who computes which tile.
#pragma once

#include "pool.h"
#include "rng.h"
#include "tensor.h"

namespace tinydiff {

// y = x W + b.
struct Linear {
  Tensor weight;  // in x out
  Tensor bias;    // 1 x out

  // `gain` scales the usual deviation 1 / sqrt(in), which keeps the variance of the input.
  Linear(WeightSource& source, Index in, Index out, double gain = 1.0);
};
Tensor linear(Pool& pool, const Linear& layer, const Tensor& x);

// Rows brought to mean 0 and deviation 1, then y = x * scale + shift, both of x.cols() values.
Tensor layer_norm(Pool& pool, const Tensor& x, const float* scale, const float* shift);

struct LayerNorm {
  Tensor scale;  // 1 x channels
  Tensor shift;  // 1 x channels

  LayerNorm(WeightSource& source, Index channels);
};
Tensor layer_norm(Pool& pool, const LayerNorm& layer, const Tensor& x);

// Each run of `head_size` channels in columns [first, first + count) brought to mean square 1, in
// place: the query and key norm that keeps attention logits in range.
void rms_norm_heads(Pool& pool, Tensor& x, Index first, Index count, Index head_size);

void silu(Pool& pool, Tensor& x);
void gelu(Pool& pool, Tensor& x);  // the tanh form

// x += gate * y, with one gate per channel, or without a gate if null.
void add_gated(Pool& pool, Tensor& x, const float* gate, const Tensor& y);

// 1 x channels: sines and cosines of `position` at geometric frequencies from 1 to 1/period.
Tensor sinusoid(double position, Index channels, double period = 10000.0);

inline float silu(float x) { return x / (1.0F + std::exp(-x)); }

}  // namespace tinydiff

// The parts that transformers for diffusion are made of. d: width, f: width of the feed-forward
// layer, n: tokens.
#pragma once

#include "inspect/cost/work.h"

namespace genscope::inspect {

// q, k, v and the way out of attention; k and v may be narrower (grouped queries).
inline Work projections(double n, double d) { return matmul(n, d, 3 * d) + matmul(n, d, d); }
inline Work projections(double n, double d, double kv) {
  return matmul(n, d, d + 2 * kv) + matmul(n, d, d);
}

inline Work mlp(double n, double d, double f) { return matmul(n, d, f) + matmul(n, f, d); }
// Gate and value come from one product of twice the width.
inline Work gated_mlp(double n, double d, double f) {
  return matmul(n, d, 2 * f) + matmul(n, f, d);
}

// A vector of `in` (the time step) to `count` scales, shifts and gates of width d.
inline Work modulation(double in, double count, double d) { return matmul(1, in, count * d); }

// 256 sines of a scalar (time step, guidance) to a vector of d.
inline Work scalar_embedding(double d) { return matmul(1, 256, d) + matmul(1, d, d); }

// Image and text in two streams of the same width that attend to each other (MMDiT).
inline Work dual_block(double image, double text, double d, double f) {
  return projections(image, d) + projections(text, d) + attend(image + text, image + text, d) +
         mlp(image, d, f) + mlp(text, d, f);
}

// One stream whose feed-forward layer runs beside attention: both share the way in and out.
inline Work parallel_block(double n, double d, double f) {
  return matmul(n, d, 3 * d + f) + attend(n, n, d) + matmul(n, d + f, d);
}

// Self-attention over the image, then cross-attention to the text.
inline Work cross_block(double image, double text, double d, double f) {
  return projections(image, d) + attend(image, image, d) + matmul(image, d, d) +
         matmul(text, d, 2 * d) + attend(image, text, d) + matmul(image, d, d) + mlp(image, d, f);
}

}  // namespace genscope::inspect

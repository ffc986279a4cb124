// Work: what a stretch of a network does, as the sum of its matrix products. Everything that the
// cost model says of a network is one of these five sums. Norms, activations, rotary embeddings and
// softmax are left out: they are not matrix products and take no tensor units.
#pragma once

#include <algorithm>

namespace genscope::inspect {

// One multiply-add is two FLOPs. Doubles, because a video overflows no double and every count below
// 2^53 is exact.
struct Work {
  double linear = 0;     // FLOPs of products with weights
  double attention = 0;  // FLOPs of queries with keys and of scores with values
  double weights = 0;    // elements of the weights that were used
  double moved = 0;      // elements of activations that products read and write
  double largest = 0;    // elements of the largest weight

  double flops() const noexcept { return linear + attention; }
  Work& operator+=(const Work& b) noexcept {
    linear += b.linear;
    attention += b.attention;
    weights += b.weights;
    moved += b.moved;
    largest = std::max(largest, b.largest);
    return *this;
  }
  friend Work operator+(Work a, const Work& b) noexcept { return a += b; }
  // `n` layers of the same kind.
  friend Work operator*(double n, const Work& w) noexcept {
    return {n * w.linear, n * w.attention, n * w.weights, n * w.moved, n > 0 ? w.largest : 0};
  }
};

// `rows` tokens through a layer of `in` by `out`.
inline Work matmul(double rows, double in, double out) noexcept {
  return {2 * rows * in * out, 0, in * out, rows * (in + out), in * out};
}

// Softmax attention over all heads together, whose widths add up to `width`.
inline Work attend(double queries, double keys, double width) noexcept {
  return {0, 4 * queries * keys * width, 0, 2 * (queries + keys) * width, 0};
}

// A convolution whose kernel has `taps` elements, from `pixels_in` to `pixels_out`.
inline Work conv(double pixels_in, double pixels_out, double in, double out, double taps) noexcept {
  return {2 * pixels_out * in * out * taps, 0, in * out * taps, pixels_in * in + pixels_out * out,
          in * out * taps};
}

}  // namespace genscope::inspect

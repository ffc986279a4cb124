// tr((S1 S2)^1/2) is the sum of the roots of the eigenvalues of R S2 R, R the root of S1, which is
// symmetric. Eigenvalues by cyclic Jacobi rotations: O(d^3) a sweep, some ten sweeps, and accurate
// for the small ones, which a root makes large. For features of 2,048 that is minutes: give it the
// hundreds that a benchmark has.
#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/quality/quality.h"
#include "analyze/statistics/order.h"

namespace genscope::stats {
namespace {

class Matrix {
 public:
  explicit Matrix(std::size_t d) : d_(d), cells_(d * d, 0) {}
  Matrix(std::span<const double> cells, std::size_t d)
      : d_(d), cells_(cells.begin(), cells.end()) {}
  double& operator()(std::size_t i, std::size_t j) noexcept { return cells_[i * d_ + j]; }
  double operator()(std::size_t i, std::size_t j) const noexcept { return cells_[i * d_ + j]; }
  std::size_t size() const noexcept { return d_; }

 private:
  std::size_t d_;
  std::vector<double> cells_;
};

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < a.size(); ++k) {
      for (std::size_t j = 0; j < a.size(); ++j) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

// Turns `m` into a diagonal one, and `vectors`, if given, into its eigenvectors (columns).
void jacobi(Matrix& m, Matrix* vectors) {
  const std::size_t d = m.size();
  if (vectors != nullptr) {
    for (std::size_t i = 0; i < d; ++i) (*vectors)(i, i) = 1;
  }
  for (int sweep = 0; sweep < 100; ++sweep) {
    double off = 0, diagonal = 0;
    for (std::size_t i = 0; i < d; ++i) {
      diagonal += m(i, i) * m(i, i);
      for (std::size_t j = i + 1; j < d; ++j) off += m(i, j) * m(i, j);
    }
    if (off <= 1e-32 * diagonal || off == 0) return;
    for (std::size_t p = 0; p < d; ++p) {
      for (std::size_t q = p + 1; q < d; ++q) {
        if (m(p, q) == 0) continue;
        const double theta = (m(q, q) - m(p, p)) / (2 * m(p, q));
        const double t = std::copysign(1.0, theta) / (std::fabs(theta) + std::hypot(1.0, theta));
        const double c = 1 / std::hypot(1.0, t), s = t * c;
        const auto rotate = [&](double& x, double& y) {
          const double before = x;
          x = c * before - s * y;
          y = s * before + c * y;
        };
        for (std::size_t k = 0; k < d; ++k) rotate(m(k, p), m(k, q));
        for (std::size_t k = 0; k < d; ++k) rotate(m(p, k), m(q, k));
        if (vectors != nullptr) {
          for (std::size_t k = 0; k < d; ++k) rotate((*vectors)(k, p), (*vectors)(k, q));
        }
      }
    }
  }
}

bool is_covariance(std::span<const double> cells, std::size_t d) {
  if (cells.size() != d * d || !all_finite(cells)) return false;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double a = cells[i * d + j], b = cells[j * d + i];
      if (std::fabs(a - b) > 1e-9 * (std::fabs(a) + std::fabs(b))) return false;
    }
  }
  return true;
}

// Roots of the eigenvalues; those below 0 by rounding count as 0, others make it false.
bool roots_of(const Matrix& diagonal, std::vector<double>& roots) {
  double largest = 0;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    largest = std::max(largest, std::fabs(diagonal(i, i)));
  }
  roots.clear();
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    if (diagonal(i, i) < -1e-8 * largest) return false;
    roots.push_back(std::sqrt(std::max(0.0, diagonal(i, i))));
  }
  return true;
}

}  // namespace

std::optional<double> frechet_distance(std::span<const double> mean1,
                                       std::span<const double> covariance1,
                                       std::span<const double> mean2,
                                       std::span<const double> covariance2) {
  const std::size_t d = mean1.size();
  if (d == 0 || mean2.size() != d || !all_finite(mean1) || !all_finite(mean2) ||
      !is_covariance(covariance1, d) || !is_covariance(covariance2, d)) {
    return std::nullopt;
  }
  Matrix values(covariance1, d), vectors(d);
  jacobi(values, &vectors);
  std::vector<double> roots;
  if (!roots_of(values, roots)) return std::nullopt;
  Matrix root(d);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      for (std::size_t k = 0; k < d; ++k) root(i, j) += vectors(i, k) * roots[k] * vectors(j, k);
    }
  }
  Matrix inner = product(product(root, Matrix(covariance2, d)), root);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      inner(i, j) = inner(j, i) = (inner(i, j) + inner(j, i)) / 2;
    }
  }
  jacobi(inner, nullptr);
  if (!roots_of(inner, roots)) return std::nullopt;
  double distance = 0;
  for (std::size_t i = 0; i < d; ++i) {
    const double off = mean1[i] - mean2[i];
    distance += off * off + covariance1[i * d + i] + covariance2[i * d + i] - 2 * roots[i];
  }
  return if_finite(std::max(0.0, distance));
}

}  // namespace genscope::stats

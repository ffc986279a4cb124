#include "analyze/quality/quality.h"

#include <gtest/gtest.h>

#include <cmath>

#include "testing/random.h"

namespace genscope::stats {
namespace {

using Pixels = std::vector<std::uint8_t>;

Pixels noise_image(testing::Random& random, std::size_t n) {
  Pixels pixels(n);
  for (auto& p : pixels) p = static_cast<std::uint8_t>(random.below(256));
  return pixels;
}

// SSIM as its definition has it: every window by itself, weights in two dimensions.
double slow_ssim(const Pixels& a, const Pixels& b, std::size_t width, std::size_t height) {
  double weights[11][11], all = 0;
  for (int y = 0; y < 11; ++y) {
    for (int x = 0; x < 11; ++x) {
      all += weights[y][x] = std::exp(-((x - 5) * (x - 5) + (y - 5) * (y - 5)) / 4.5);
    }
  }
  double sum = 0, windows = 0;
  for (std::size_t top = 0; top + 11 <= height; ++top) {
    for (std::size_t left = 0; left + 11 <= width; ++left) {
      double ma = 0, mb = 0, va = 0, vb = 0, ab = 0;
      const auto each = [&](auto f) {
        for (std::size_t y = 0; y < 11; ++y) {
          for (std::size_t x = 0; x < 11; ++x) {
            const std::size_t at = (top + y) * width + left + x;
            f(weights[y][x] / all, static_cast<double>(a[at]), static_cast<double>(b[at]));
          }
        }
      };
      each([&](double w, double p, double q) { ma += w * p, mb += w * q; });
      each([&](double w, double p, double q) {
        va += w * (p - ma) * (p - ma), vb += w * (q - mb) * (q - mb), ab += w * (p - ma) * (q - mb);
      });
      const double c1 = 6.5025, c2 = 58.5225;
      sum += (2 * ma * mb + c1) * (2 * ab + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
      ++windows;
    }
  }
  return sum / windows;
}

TEST(Ssim, EqualsItsDefinition) {
  testing::Random random(1);
  const Pixels a = noise_image(random, 17 * 14), b = noise_image(random, 17 * 14);
  Pixels near = a;
  for (auto& p : near) p = static_cast<std::uint8_t>(p / 2 + 40);
  EXPECT_NEAR(*ssim(a, b, 17, 14), slow_ssim(a, b, 17, 14), 1e-9);
  EXPECT_NEAR(*ssim(a, near, 17, 14), slow_ssim(a, near, 17, 14), 1e-9);
  EXPECT_NEAR(*ssim(a, a, 17, 14), 1, 1e-12);
}

TEST(Ssim, OfChannelsIsTheirMean) {
  testing::Random random(2);
  const std::size_t n = 12 * 13;
  const Pixels r1 = noise_image(random, n), r2 = noise_image(random, n), g = noise_image(random, n);
  Pixels a, b;
  for (std::size_t i = 0; i < n; ++i) {
    a.push_back(r1[i]), a.push_back(g[i]);
    b.push_back(r2[i]), b.push_back(g[i]);
  }
  EXPECT_NEAR(*ssim(a, b, 12, 13, 2), (*ssim(r1, r2, 12, 13) + 1) / 2, 1e-12);
}

TEST(Ssim, RefusesWhatDoesNotFit) {
  const Pixels a(100), b(100);
  EXPECT_FALSE(ssim(a, b, 10, 10)) << "smaller than the window";
  EXPECT_FALSE(ssim(Pixels(144), Pixels(143), 12, 12));
  EXPECT_FALSE(ssim(Pixels(145), Pixels(145), 12, 12));
  EXPECT_FALSE(ssim(Pixels(144), Pixels(144), 12, 12, 0));
  EXPECT_TRUE(ssim(Pixels(144), Pixels(144), 12, 12));
}

TEST(Pixels, OfBlackAndWhiteAreAsFarAsCanBe) {
  const auto d = *pixel_difference(Pixels(9, 0), Pixels(9, 255));
  EXPECT_EQ(d.psnr_db, 0);
  EXPECT_EQ(d.largest, 255);
  EXPECT_FALSE(pixel_difference(Pixels(3), Pixels(4)));
  EXPECT_FALSE(pixel_difference({}, {}));
}

TEST(Frechet, OfTheSameIsZeroAndOfDiagonalsKnown) {
  const std::vector<double> m{1, 2}, s{2, 0.5, 0.5, 1};
  EXPECT_NEAR(*frechet_distance(m, s, m, s), 0, 1e-12);
  // Diagonal: sum of (sqrt a - sqrt b)^2.
  const std::vector<double> a{4, 0, 0, 9}, b{1, 0, 0, 16}, zero{0, 0};
  EXPECT_NEAR(*frechet_distance(zero, a, zero, b), 2, 1e-12);
  const std::vector<double> flat{1, 1, 1, 1};  // of rank 1
  EXPECT_TRUE(frechet_distance(zero, flat, zero, a));
  EXPECT_FALSE(frechet_distance(zero, std::vector<double>{1, 2, 3, 4}, zero, a)) << "not symmetric";
  EXPECT_FALSE(frechet_distance(zero, std::vector<double>{-1, 0, 0, 1}, zero, a));
  EXPECT_FALSE(frechet_distance(zero, a, std::vector<double>{0}, a));
  EXPECT_FALSE(frechet_distance({}, {}, {}, {}));
}

TEST(RangeGate, FailsWhatWasNotMeasured) {
  const std::map<std::string, Range> ranges{{"clip", {31, 32}}, {"fid", {20, 24}}};
  EXPECT_TRUE(range_gate({{"clip", 31}, {"fid", 24}, {"other", 0}}, ranges).pass);
  EXPECT_EQ(range_gate({{"clip", 31}}, ranges).failed, std::vector<std::string>{"fid"});
  EXPECT_FALSE(range_gate({{"clip", std::nan("")}, {"fid", 22}}, ranges).pass);
  EXPECT_TRUE(range_gate({}, {}).pass);
}

TEST(NonInferiority, JudgesThePairsAgainstTheMargin) {
  const std::vector<double> before{0.31, 0.32, 0.30, 0.33, 0.31, 0.32};
  std::vector<double> same = before, worse = before, noisy = before;
  for (std::size_t i = 0; i < before.size(); ++i) {
    same[i] += i % 2 == 0 ? 0.001 : -0.001;
    worse[i] -= 0.05 + (i % 2 == 0 ? 0.001 : -0.001);
    noisy[i] += i % 2 == 0 ? 0.1 : -0.1;
  }
  EXPECT_EQ(non_inferiority(before, same, 0.01)->change, QualityChange::not_worse);
  EXPECT_EQ(non_inferiority(before, worse, 0.01)->change, QualityChange::worse);
  EXPECT_EQ(non_inferiority(before, noisy, 0.01)->change, QualityChange::unclear);
  EXPECT_EQ(non_inferiority(before, before, 0)->change, QualityChange::not_worse);
  EXPECT_FALSE(non_inferiority(std::vector<double>{1}, std::vector<double>{1}, 0.1));
}

}  // namespace
}  // namespace genscope::stats
